/** Where tasks live in these tests, said in a way that a process can be told. */
import { type EngineOptions, postgres, postgresEngine, sqliteEngine, type TaskEngine } from 'pannier/tasks'

export type Place =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

/** An engine over a place, not open yet. Closing it lets go of everything. */
export function engineAt(place: Place, options: EngineOptions = {}): TaskEngine {
  switch (place.kind) {
    case 'sqlite':
      return sqliteEngine({ ...options, path: place.path })
    case 'postgres':
      return postgresAt(place.url, options)
  }
}

function postgresAt(url: string, options: EngineOptions): TaskEngine {
  const connection = postgres({ url, maxConnections: 6 })
  const engine = postgresEngine(connection, options)
  const close = engine.close.bind(engine)
  return Object.assign(engine, { close: () => close().then(() => connection.close()) })
}

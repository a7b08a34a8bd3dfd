import { postgres, postgresEngine, sqliteEngine, type TaskEngine } from 'pannier/tasks'
import { AUDIENCE } from './store.ts'

/** Where tasks lie: in a file, or in a schema of a database. */
export type Place =
  | { readonly database: 'SQLite'; readonly path: string }
  | { readonly database: 'PostgreSQL'; readonly url: string; readonly schema: string }

export interface OpenEngine {
  readonly engine: TaskEngine
  close(): Promise<void>
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

export async function openEngine(place: Place): Promise<OpenEngine> {
  const opened = place.database === 'SQLite' ? onFile(place.path) : onSchema(place.url, place.schema)
  await opened.engine.open({ audience: AUDIENCE, logger: () => silent })
  return opened
}

function onFile(path: string): OpenEngine {
  const engine = sqliteEngine({ path })
  return { engine, close: () => engine.close() }
}

function onSchema(url: string, schema: string): OpenEngine {
  const connection = postgres({ url, schema })
  const engine = postgresEngine(connection)
  return { engine, close: () => engine.close().then(() => connection.close()) }
}

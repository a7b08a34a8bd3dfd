import { postgres, postgresEngine, sqliteEngine, type TaskEngine } from 'pannier/tasks'
import { AUDIENCE } from './store.ts'

/** Where tasks lie: in a file, or in a schema of a database. */
export type StoreLocation =
  | { readonly database: 'SQLite'; readonly path: string }
  | { readonly database: 'PostgreSQL'; readonly url: string; readonly schema: string }

export interface OpenEngine {
  readonly engine: TaskEngine
  close(): Promise<void>
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

export async function openEngine(place: StoreLocation): Promise<OpenEngine> {
  const opened = place.database === 'SQLite' ? openSqlite(place.path) : openPostgres(place.url, place.schema)
  await opened.engine.open({ audience: AUDIENCE, logger: () => silent })
  return opened
}

function openSqlite(path: string): OpenEngine {
  const engine = sqliteEngine({ path })
  return { engine, close: () => engine.close() }
}

function openPostgres(url: string, schema: string): OpenEngine {
  const connection = postgres({ url, schema })
  const engine = postgresEngine(connection)
  return { engine, close: () => engine.close().then(() => connection.close()) }
}

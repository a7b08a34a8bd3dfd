import { postgres, postgresEngine, sqliteEngine, type TaskEngine } from 'pannier/tasks'
import { AUDIENCE } from './store.ts'

/** Where tasks are stored: a SQLite file, or a schema of a PostgreSQL database. */
export type StoreLocation =
  | { readonly database: 'SQLite'; readonly path: string }
  | { readonly database: 'PostgreSQL'; readonly url: string; readonly schema: string }

export interface OpenEngine {
  readonly engine: TaskEngine
  close(): Promise<void>
}

// All tasks are of one caller.
const MANY = 1_000_000
const silent = { debug() {}, info() {}, warn() {}, error() {} }

export async function openEngine(location: StoreLocation): Promise<OpenEngine> {
  const opened = engineAt(location)
  await opened.engine.open({ audience: AUDIENCE, logger: () => silent })
  return opened
}

/** An engine that its user opens. */
export function engineAt(location: StoreLocation): OpenEngine {
  return location.database === 'SQLite' ? openSqlite(location.path) : openPostgres(location.url, location.schema)
}

function openSqlite(path: string): OpenEngine {
  const engine = sqliteEngine({ path, maxTasksPerCaller: MANY })
  return { engine, close: () => engine.close() }
}

function openPostgres(url: string, schema: string): OpenEngine {
  const connection = postgres({ url, schema })
  const engine = postgresEngine(connection, { maxTasksPerCaller: MANY })
  return { engine, close: () => engine.close().then(() => connection.close()) }
}

/** The measured stores: a jar in memory, a jar in SQLite, and a SQLite table with two prepared statements. */
import { DatabaseSync } from 'node:sqlite'
import { memoryJar, sqliteJar } from 'pannier/state'

export const STORES = ['memory', 'statements', 'sqlite'] as const
export type StoreName = (typeof STORES)[number]

export interface Store {
  read(): Promise<Record<string, unknown>> | Record<string, unknown>
  write(name: string, value: string): Promise<unknown> | void
}

const owner = { server: 'bench.example.com', principal: 'ann', context: 'bench' }

export function openStore(store: StoreName, path: string): Store {
  if (store === 'statements') return statements(path)
  const jar = store === 'memory' ? memoryJar() : sqliteJar({ path })
  return {
    read: async () => (await jar.read(owner)).server,
    write: (name, value) => jar.write(owner, { server: { [name]: value } }),
  }
}

/** The baseline: the same rows, log and transactions, without safe keys, limits, ages or change notifications. */
function statements(path: string): Store {
  const database = new DatabaseSync(path, { timeout: 5_000 })
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS entries (
      principal TEXT, server TEXT, context TEXT, name TEXT, value TEXT, updated_at INTEGER,
      PRIMARY KEY (principal, server, context, name)
    ) STRICT`)
  const { principal, server, context } = owner
  const select = database.prepare(
    `SELECT name, value FROM entries WHERE principal = ? AND server = ? AND context IN (?, '')`,
  )
  const put = database.prepare(
    `INSERT INTO entries VALUES (?, ?, '', ?, ?, ?)
     ON CONFLICT DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
  )
  return {
    read: () => Object.fromEntries(select.all(principal, server, context).map(({ name, value }) => [name, value])),
    write(name, value) {
      database.exec('BEGIN IMMEDIATE')
      put.run(principal, server, name, value, Date.now())
      database.exec('COMMIT')
    },
  }
}

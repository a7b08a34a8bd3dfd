import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StoreLocation } from '../../programs/tasks/engines.ts'
import { startPostgres } from '../../processes/postgres.ts'
import type { CpuSource } from '../../processes/cpuUsage.ts'

/** A database, with as many empty places for tasks as are needed. */
export interface Database {
  readonly name: StoreLocation['database']
  /** The processes of its own; SQLite has none. */
  readonly processes: readonly CpuSource[]
  /** A place of this name. */
  locate(name: string): StoreLocation
}

/** SQLite and PostgreSQL, while the work goes on. */
export async function withDatabases<T>(work: (all: readonly Database[]) => Promise<T>): Promise<T> {
  const server = await startPostgres()
  const { url } = server
  const folder = mkdtempSync(join(tmpdir(), 'pannier-bench-tasks-'))
  try {
    return await work([
      { name: 'SQLite', processes: [], locate: (name) => ({ database: 'SQLite', path: join(folder, `${name}.db`) }) },
      { name: 'PostgreSQL', processes: [server.used], locate: (schema) => ({ database: 'PostgreSQL', url, schema }) },
    ])
  } finally {
    await server.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

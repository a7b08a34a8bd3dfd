import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Place } from '../../programs/tasks/engines.ts'
import { startPostgres } from '../../processes/postgres.ts'
import type { Used } from '../../processes/cpuUsage.ts'

/** A database, with as many empty places for tasks as are needed. */
export interface Places {
  readonly database: Place['database']
  /** The processes of its own; SQLite has none. */
  readonly used: readonly Used[]
  /** A place of this name. */
  at(name: string): Place
}

/** SQLite and PostgreSQL, while the work goes on. */
export async function withPlaces<T>(work: (all: readonly Places[]) => Promise<T>): Promise<T> {
  const server = await startPostgres()
  const { url } = server
  const folder = mkdtempSync(join(tmpdir(), 'pannier-bench-tasks-'))
  try {
    return await work([
      { database: 'SQLite', used: [], at: (name) => ({ database: 'SQLite', path: join(folder, `${name}.db`) }) },
      { database: 'PostgreSQL', used: [server.used], at: (schema) => ({ database: 'PostgreSQL', url, schema }) },
    ])
  } finally {
    await server.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

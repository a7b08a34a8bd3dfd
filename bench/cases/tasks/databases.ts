import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { PostgresServer } from '../../../test/postgres/server.ts'
import { type CpuSource, parentOf, processTreeCpu } from '../../processes/cpuUsage.ts'
import type { StoreLocation } from '../../programs/tasks/engines.ts'

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

/** A PostgreSQL of the bench's own, on its core. */
interface Postgres {
  readonly url: string
  readonly used: CpuSource
  end(): Promise<void>
}

async function startPostgres(): Promise<Postgres> {
  const server = await PostgresServer.start()
  return { url: server.url(), used: await processesOf(server.url()), end: () => server.end() }
}

/** Each connection is a process; what started it has started all of them. */
async function processesOf(url: string): Promise<CpuSource> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const postmaster = parentOf(rows[0]?.pid ?? 0)
  await client.end()
  return postmaster === undefined ? { ask: async () => 0 } : processTreeCpu(postmaster)
}

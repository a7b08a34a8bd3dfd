import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { PostgresServer } from '../../../test/postgres/server.ts'
import { type CpuSource, parentOf, processTreeCpu } from '../../processes/cpuUsage.ts'
import type { StoreLocation } from '../../programs/tasks/engines.ts'

/** A database that gives out empty files or schemas for tasks. */
export interface Database {
  readonly name: StoreLocation['database']
  /** Its server processes; SQLite has none. */
  readonly processes: readonly CpuSource[]
  /** The file or schema of this name. */
  locate(name: string): StoreLocation
}

/** Does the work with SQLite and PostgreSQL, and removes both afterwards. */
export async function withDatabases<T>(work: (all: readonly Database[]) => Promise<T>): Promise<T> {
  const server = await startPostgres()
  const { url } = server
  const folder = mkdtempSync(join(tmpdir(), 'pannier-bench-tasks-'))
  try {
    return await work([
      { name: 'SQLite', processes: [], locate: (name) => ({ database: 'SQLite', path: join(folder, `${name}.db`) }) },
      { name: 'PostgreSQL', processes: [server.cpu], locate: (schema) => ({ database: 'PostgreSQL', url, schema }) },
    ])
  } finally {
    await server.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The bench's own PostgreSQL, on the core of the load generator. */
interface Postgres {
  readonly url: string
  readonly cpu: CpuSource
  end(): Promise<void>
}

async function startPostgres(): Promise<Postgres> {
  const server = await PostgresServer.start()
  return { url: server.url(), cpu: await serverCpu(server.url()), end: () => server.end() }
}

/** PostgreSQL has a process for each connection; the parent of one is the parent of all. */
async function serverCpu(url: string): Promise<CpuSource> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const postmaster = parentOf(rows[0]?.pid ?? 0)
  await client.end()
  return postmaster === undefined ? { ask: async () => 0 } : processTreeCpu(postmaster)
}

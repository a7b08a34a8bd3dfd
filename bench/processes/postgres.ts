import pg from 'pg'
import { PostgresServer } from '../../test/postgres/server.ts'
import { processTreeCpu, parentOf } from './grandchild.ts'
import type { CpuSource } from './cpuUsage.ts'

/** A PostgreSQL of the bench's own, on its core. */
export interface Postgres {
  readonly url: string
  readonly used: CpuSource
  end(): Promise<void>
}

export async function startPostgres(): Promise<Postgres> {
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

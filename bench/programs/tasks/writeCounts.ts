/** How much was written, counted by the database itself, to show that the engine and the statements write the same. */
import { readFile } from 'node:fs/promises'
import type { Pool } from 'pg'
import type { WriteCounts } from './store.ts'

/** The offset of the transaction counter in SQLite's WAL index, as its file format documentation gives it. */
const CHANGE_COUNTER_OFFSET = 8

/** The bytes are those that this process wrote, from /proc; 0 without /proc. */
export async function sqliteWriteCounts(path: string): Promise<WriteCounts> {
  const index = await readFile(`${path}-shm`)
  const counts = await readFile('/proc/self/io', 'utf8').catch(() => '')
  const bytes = /^wchar: (\d+)$/m.exec(counts)?.[1]
  return { commits: index.readUInt32LE(CHANGE_COUNTER_OFFSET), bytes: Number(bytes ?? 0) }
}

/** Only writing transactions have an id. */
export async function postgresWriteCounts(pool: Pool): Promise<WriteCounts> {
  const { rows } = await pool.query<{ commits: string; bytes: string }>(
    `SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS commits, pg_current_wal_insert_lsn() - '0/0' AS bytes`,
  )
  return { commits: Number(rows[0]?.commits), bytes: Number(rows[0]?.bytes) }
}

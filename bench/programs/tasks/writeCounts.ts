/** How much a store has written, counted by the store itself: so that two who should write the same can be compared. */
import { readFile } from 'node:fs/promises'
import type { Pool } from 'pg'
import type { WriteCounts } from './store.ts'

/** SQLite counts transactions in the index of its log, at a place that its documentation gives. */
const CHANGES_AT = 8

/** Bytes are those of this process, by the system's count; none where there is none. */
export async function sqliteWriteCounts(path: string): Promise<WriteCounts> {
  const index = await readFile(`${path}-shm`)
  const counts = await readFile('/proc/self/io', 'utf8').catch(() => '')
  const bytes = /^wchar: (\d+)$/m.exec(counts)?.[1]
  return { commits: index.readUInt32LE(CHANGES_AT), bytes: Number(bytes ?? 0) }
}

/** Only what writes has a transaction id. */
export async function postgresWriteCounts(pool: Pool): Promise<WriteCounts> {
  const { rows } = await pool.query<{ commits: string; bytes: string }>(
    `SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS commits, pg_current_wal_insert_lsn() - '0/0' AS bytes`,
  )
  return { commits: Number(rows[0]?.commits), bytes: Number(rows[0]?.bytes) }
}

import { jsonText, parseStored } from '../../state/internal.ts'
import { assertClaim, type Claim, claimMissing, type Ledger, makeSweeper } from '../../state/stores/index.ts'
import { type Database, databaseOf, type PostgresConnection } from '../database.ts'
import { digest } from '../digest.ts'

interface ClaimRow {
  readonly is_fresh: boolean
  readonly done: boolean | null
  readonly value: string | null
}

/** A ledger for all machines that use this database, by the database's clock. It stores digests instead of ids. */
export function postgresLedger(connection: PostgresConnection): Ledger {
  const database = databaseOf(connection)
  const ledger = `${database.names.tables}.ledger`

  const sweep = tableSweeper(database, ledger)

  return {
    async claim(id, ttlSeconds) {
      assertClaim(id, ttlSeconds)
      sweep()
      // The new claim replaces an expired one.
      const [row] = await database.rows<ClaimRow>(
        `WITH taken AS (
           INSERT INTO ${ledger} AS l (id, expires_at) VALUES ($1, now() + $2::float8 * interval '1 second')
           ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, done = false, value = NULL
             WHERE l.expires_at <= now()
           RETURNING id
         )
         SELECT EXISTS (SELECT FROM taken) AS is_fresh, l.done, l.value
         FROM (SELECT) AS once LEFT JOIN ${ledger} AS l ON l.id = $1`,
        [digest(id), Math.min(ttlSeconds, MAX_LIFE_MS / 1000)],
      )
      return claimOf(row)
    },

    async settle(id, value) {
      const text = value === undefined ? null : jsonText(value)
      const rows = await database.rows(
        `UPDATE ${ledger} SET done = true, value = CASE WHEN done THEN value ELSE $2 END
         WHERE id = $1 AND expires_at > now() RETURNING id`,
        [digest(id), text],
      )
      if (rows.length === 0) throw claimMissing()
    },

    async release(id) {
      await database.rows(`DELETE FROM ${ledger} WHERE id = $1 AND NOT done`, [digest(id)])
    },
  }
}

function claimOf(row: ClaimRow | undefined): Claim {
  if (row?.is_fresh) return { state: 'fresh' }
  if (!row?.done) return { state: 'running' }
  if (row.value === null) return { state: 'done', value: undefined }
  const damaged = 'A settled value in the ledger is damaged; restore it from a backup.'
  return { state: 'done', value: parseStored(row.value, damaged) }
}

/** A century, the maximum lifetime of a row: PostgreSQL's calendar has an end. */
export const MAX_LIFE_MS = 3_155_760_000_000

const SWEEP_BATCH = 1000

/** Returns a function that removes expired rows of a table, at most once in a while. */
export function tableSweeper(database: Database, table: string): () => void {
  const text = `WITH expired AS (SELECT id FROM ${table} WHERE expires_at <= now() LIMIT $1 FOR UPDATE SKIP LOCKED)
    DELETE FROM ${table} AS t USING expired WHERE t.id = expired.id`
  return makeSweeper(performance.now.bind(performance), () => {
    // The caller's next statement reports the error.
    database.rows(text, [SWEEP_BATCH]).catch(() => {})
  })
}

import { jsonText, StateError } from '../../state/internal.ts'
import { assertClaim, type Claim, claimMissing, type Ledger } from '../../state/stores/index.ts'
import { databaseOf, type PostgresConnection } from '../database.ts'
import { digest } from '../digest.ts'
import { MAX_LIFE_MS, tableSweeper } from '../expiry.ts'

interface ClaimRow {
  readonly is_fresh: boolean
  readonly done: boolean | null
  readonly value: string | null
}

/** A ledger for all machines that use this database, by the database's clock. It stores digests instead of ids. */
export function postgresLedger(connection: PostgresConnection): Ledger {
  const database = databaseOf(connection)
  const ledger = `${database.names.tables}.ledger`

  const run = async <Row>(text: string, values: unknown[]) => (await database.statements()).rows<Row>(text, values)
  const sweep = tableSweeper(database, ledger)

  return {
    async claim(id, ttlSeconds) {
      assertClaim(id, ttlSeconds)
      sweep()
      // The new claim replaces an expired one.
      const [row] = await run<ClaimRow>(
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
      const rows = await run(
        `UPDATE ${ledger} SET done = true, value = CASE WHEN done THEN value ELSE $2 END
         WHERE id = $1 AND expires_at > now() RETURNING id`,
        [digest(id), text],
      )
      if (rows.length === 0) throw claimMissing()
    },

    async release(id) {
      await run(`DELETE FROM ${ledger} WHERE id = $1 AND NOT done`, [digest(id)])
    },
  }
}

function claimOf(row: ClaimRow | undefined): Claim {
  if (row?.is_fresh) return { state: 'fresh' }
  if (!row?.done) return { state: 'running' }
  return { state: 'done', value: parseValue(row.value) }
}

function parseValue(text: string | null): unknown {
  if (text === null) return undefined
  try {
    return JSON.parse(text)
  } catch {
    // No cause: the parser's message would quote the value.
    throw new StateError('STORE_CORRUPT', 'A settled value in the ledger is damaged; restore it from a backup.')
  }
}

/** A ledger over any SQL that answers asynchronously, such as over HTTP: D1, Turso, Neon. Each step is one statement. */
import { digestOf } from '../digest.ts'
import { jsonText, parseStored } from '../jsonText.ts'
import { makeSweeper } from './expiry.ts'
import { assertClaim, claimMissing, type Ledger } from './ledger.ts'

/**
 * Runs one statement, and gives the rows that it returns. Parameters are `?`, in order. The SQL is that of SQLite and of
 * PostgreSQL, except that PostgreSQL names parameters `$1`, `$2`.
 */
export type RunSql = (
  statement: string,
  parameters: readonly (string | number | null)[],
) => Promise<readonly Readonly<Record<string, unknown>>[]>

export interface SqlLedgerOptions {
  /** The time in milliseconds. The instances that share claims need clocks that agree. @default Date.now */
  clock?: () => number
}

const CREATE =
  'CREATE TABLE IF NOT EXISTS pannier_claims (id TEXT PRIMARY KEY, expires_at BIGINT NOT NULL, done INTEGER NOT NULL, value TEXT)'
/** A new claim replaces an expired one. */
const CLAIM = `INSERT INTO pannier_claims (id, expires_at, done) VALUES (?, ?, 0)
  ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, done = 0, value = NULL
    WHERE pannier_claims.expires_at <= ? RETURNING id`
const FIND = 'SELECT done, value FROM pannier_claims WHERE id = ? AND expires_at > ?'
const SETTLE = `UPDATE pannier_claims SET value = CASE WHEN done = 1 THEN value ELSE ? END, done = 1
  WHERE id = ? AND expires_at > ? RETURNING id`
const RELEASE = 'DELETE FROM pannier_claims WHERE id = ? AND done = 0'
const SWEEP = 'DELETE FROM pannier_claims WHERE expires_at <= ?'

/** Claims in a table `pannier_claims`, which the first claim creates. It stores digests instead of ids. */
export function sqlLedger(run: RunSql, { clock = Date.now }: SqlLedgerOptions = {}): Ledger {
  let created: Promise<unknown> | undefined
  const create = (): Promise<unknown> => {
    created ??= run(CREATE, []).catch((error: unknown) => {
      created = undefined // the next claim tries again
      throw error
    })
    return created
  }
  // The next statement reports the error.
  const sweep = makeSweeper(clock, (now) => void run(SWEEP, [now]).catch(() => {}))

  return {
    async claim(id, ttlSeconds) {
      assertClaim(id, ttlSeconds)
      await create()
      sweep()
      const now = clock()
      const key = digestOf(id)
      const [fresh] = await run(CLAIM, [key, Math.ceil(now + ttlSeconds * 1000), now])
      if (fresh !== undefined) return { state: 'fresh' }
      const [row] = await run(FIND, [key, now])
      if (row === undefined || Number(row['done']) !== 1) return { state: 'running' }
      return { state: 'done', value: readValue(row['value']) }
    },

    async settle(id, value) {
      const text = value === undefined ? null : jsonText(value)
      await create()
      const [row] = await run(SETTLE, [text, digestOf(id), clock()])
      if (row === undefined) throw claimMissing()
    },

    async release(id) {
      await create()
      await run(RELEASE, [digestOf(id)])
    },
  }
}

function readValue(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  return parseStored(text, 'A settled value in the ledger is damaged; restore it from a backup.')
}

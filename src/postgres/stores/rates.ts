import { makeSweeper, memoryRates, RATE_MS, type RateStore } from '../../state/stores/index.ts'
import { databaseOf, type PostgresConnection } from '../database.ts'
import { digest } from '../digest.ts'
import { Impatience } from './impatience.ts'

// Timeout of a count, for which every request waits.
const COUNT_MS = 1000
const CLOCKS_DIFFER_MS = 30_000
/** Version 0.1 counts under this prefix, by the clock of each instance. */
const PREFIX = 'rlflx:'

/**
 * Counts requests for all instances that use this database. It stores digests instead of names. While the database cannot
 * be reached, each instance counts for itself.
 */
export function postgresRates(connection: PostgresConnection): RateStore {
  const database = databaseOf(connection)
  const impatience = new Impatience(COUNT_MS)
  const insurance = memoryRates()
  const refusals = new Refusals()
  const rates = `${database.names.tables}.rates`
  const query = (statement: { text: string; values: unknown[] }) =>
    impatience.run(async () => (await database.ready()).query({ ...statement, query_timeout: COUNT_MS }))
  const sweep = makeSweeper(performance.now.bind(performance), () => {
    refusals.sweep()
    const text = `DELETE FROM ${rates} WHERE expire < $1`
    query({ text, values: [Date.now() - CLOCKS_DIFFER_MS] }).catch(() => {}) // `count` meets the same error
  })
  const text = `
    INSERT INTO ${rates} AS counted (key, points, expire) VALUES ($1, 1, $2::bigint + ${RATE_MS})
    ON CONFLICT (key) DO UPDATE SET
      points = CASE WHEN counted.expire <= $2 THEN 1 ELSE counted.points + 1 END,
      expire = CASE WHEN counted.expire <= $2 THEN excluded.expire ELSE counted.expire END
    RETURNING points, (expire - $2)::float8 AS "waitMs"`
  return {
    async count(caller, limit) {
      sweep()
      const key = PREFIX + digest(caller).toString('base64url')
      const refused = refusals.waitOf(key, limit)
      if (refused > 0) return refused
      try {
        const { rows } = await query({ text, values: [key, Date.now()] })
        const { points, waitMs } = rows[0] as { points: number; waitMs: number }
        return points <= limit ? 0 : refusals.add(key, limit, Math.max(1, waitMs))
      } catch {
        return insurance.count(key, limit)
      }
    },
  }
}

/** Callers who have used up their limit: until their minute is over, the database is not asked. */
class Refusals {
  readonly #refused = new Map<string, { readonly limit: number; readonly until: number }>()

  waitOf(key: string, limit: number): number {
    const refusal = this.#refused.get(key)
    return refusal === undefined || limit > refusal.limit ? 0 : Math.max(0, refusal.until - performance.now())
  }

  add(key: string, limit: number, waitMs: number): number {
    this.#refused.set(key, { limit, until: performance.now() + waitMs })
    return waitMs
  }

  sweep(): void {
    const now = performance.now()
    for (const [key, { until }] of this.#refused) if (until <= now) this.#refused.delete(key)
  }
}

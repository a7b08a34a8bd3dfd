import { limiterRates, makeSweeper, memoryLimiter, RATE_SECONDS, type RateStore } from '../../state/stores/index.ts'
import { databaseOf, type PostgresConnection } from '../database.ts'
import { digest } from '../digest.ts'
import { Impatience } from './impatience.ts'

// Timeout of a count, for which every request waits.
const COUNT_MS = 1000
const CLOCKS_DIFFER_MS = 30_000

/**
 * Counts requests for all instances that use this database. It stores digests instead of names. While the database cannot
 * be reached, each instance counts for itself.
 */
export function postgresRates(connection: PostgresConnection): RateStore {
  const database = databaseOf(connection)
  const impatience = new Impatience(COUNT_MS)

  const query = (statement: { text: string; values?: unknown[]; name?: string }): Promise<unknown> =>
    impatience.run(async () => (await database.ready()).query({ ...statement, query_timeout: COUNT_MS }))

  const rates = limiterRates(async (limit) => {
    const { default: Limiter } = await import('rate-limiter-flexible/lib/RateLimiterPostgres.js')
    return new Limiter({
      points: limit,
      duration: RATE_SECONDS,
      storeClient: { query },
      storeType: 'pool',
      schemaName: database.names.tables.slice(1, -1), // the limiter adds quotes itself
      tableName: 'rates',
      tableCreated: true,
      clearExpiredByTimeout: false, // the limiter itself would keep rows for an hour
      inMemoryBlockOnConsumed: limit + 1,
      insuranceLimiter: await memoryLimiter(limit),
    })
  })
  // Instances write times by their own clocks, which may differ.
  const text = `DELETE FROM ${database.names.tables}.rates WHERE expire < $1`
  const sweep = makeSweeper(performance.now.bind(performance), () => {
    query({ text, values: [Date.now() - CLOCKS_DIFFER_MS] }).catch(() => {}) // `count` reports the error
  })
  return {
    count: (key, limit) => {
      sweep()
      return rates.count(digest(key).toString('base64url'), limit)
    },
  }
}

import { limiterRates, memoryLimiter, RATE_SECONDS, type RateStore } from '../state/stores/index.ts'
import { databaseOf, type PostgresConnection } from './database.ts'
import { digest } from './digest.ts'

// A request waits for its count, so a database that does not answer is given up soon, and left alone for a while.
const COUNT_MS = 1000
const PAUSE_MS = 5000

/**
 * Counts requests for all instances that use this database. It stores digests instead of names. While the database cannot
 * be reached, each instance counts for itself.
 */
export function postgresRates(connection: PostgresConnection): RateStore {
  const database = databaseOf(connection)
  let awayUntil = 0

  const query = async (statement: { text: string; values?: unknown[]; name?: string }): Promise<unknown> => {
    if (performance.now() < awayUntil) throw new Error('The database could not be reached a moment ago.')
    try {
      const pool = await database.ready()
      return await pool.query({ ...statement, query_timeout: COUNT_MS })
    } catch (error) {
      awayUntil = performance.now() + PAUSE_MS
      throw error
    }
  }

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
      inMemoryBlockOnConsumed: limit + 1,
      insuranceLimiter: await memoryLimiter(limit),
    })
  })
  return { count: (key, limit) => rates.count(digest(key).toString('base64url'), limit) }
}

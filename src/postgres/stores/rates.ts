import { limiterRates, memoryLimiter, RATE_SECONDS, type RateStore } from '../../state/stores/index.ts'
import { databaseOf, type PostgresConnection } from '../database.ts'
import { digest } from '../digest.ts'
import { Impatience } from './impatience.ts'

// Every request waits for its count.
const COUNT_MS = 1000

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
      inMemoryBlockOnConsumed: limit + 1,
      insuranceLimiter: await memoryLimiter(limit),
    })
  })
  return { count: (key, limit) => rates.count(digest(key).toString('base64url'), limit) }
}

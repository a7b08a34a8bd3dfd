/** Requests per minute and caller, counted by rate-limiter-flexible in windows of one minute from the first request. */

export interface RateStore {
  /**
   * Counts one request of a caller. Gives how long to wait, in milliseconds, when it is more than `limit` within a
   * minute, else 0. Should not reject: without an answer the request fails.
   */
  count(key: string, limit: number): Promise<number>
}

/** A limiter of the package. Its own types would become part of ours. */
export interface RateLimiter {
  /** Rejects with `{ msBeforeNext }` when too much was consumed. */
  consume(key: string): Promise<unknown>
}

export const RATE_SECONDS = 60

/** Counts in the memory of this process. */
export function memoryRates(): RateStore {
  return limiterRates(memoryLimiter)
}

/** Loads the package when it is first used. */
export async function memoryLimiter(limit: number): Promise<RateLimiter> {
  const { default: Limiter } = await import('rate-limiter-flexible/lib/RateLimiterMemory.js')
  return new Limiter({ points: limit, duration: RATE_SECONDS })
}

/** A store on one limiter for each limit. */
export function limiterRates(open: (limit: number) => Promise<RateLimiter>): RateStore {
  const limiters = new Map<number, ReturnType<typeof open>>()
  return {
    async count(key, limit) {
      const limiter = limiters.get(limit) ?? open(limit)
      limiters.set(limit, limiter)
      return (await limiter).consume(key).then(() => 0, waitOf)
    },
  }
}

/** A limiter rejects with how long to wait; anything else is an error. */
function waitOf(refusal: unknown): number {
  const waitMs = (refusal as { msBeforeNext?: unknown } | undefined)?.msBeforeNext
  if (typeof waitMs !== 'number') throw refusal
  return Math.max(1, waitMs)
}

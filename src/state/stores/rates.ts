/** Requests per minute and caller, counted in windows of one minute from the first request. */
import { makeSweeper } from './expiry.ts'

export interface RateStore {
  /**
   * Counts one request of a caller. Gives how long to wait, in milliseconds, when it is more than `limit` within a
   * minute, else 0. Should not reject: without an answer the request fails.
   */
  count(key: string, limit: number): Promise<number>
}

export const RATE_MS = 60_000

interface RateWindow {
  requests: number
  readonly endsAt: number
}

/** Counts in the memory of this process. */
export function memoryRates(clock: () => number = () => Date.now()): RateStore {
  const windows = new Map<string, RateWindow>()
  const sweep = makeSweeper(clock, (now) => {
    for (const [key, { endsAt }] of windows) if (endsAt <= now) windows.delete(key)
  })
  return {
    async count(key, limit) {
      sweep()
      const now = clock()
      let window = windows.get(key)
      if (window === undefined || window.endsAt <= now)
        windows.set(key, (window = { requests: 0, endsAt: now + RATE_MS }))
      window.requests++
      return window.requests <= limit ? 0 : Math.max(1, window.endsAt - now)
    },
  }
}

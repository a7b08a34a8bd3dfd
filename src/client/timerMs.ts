import { MAX_TIMER_MS } from '../protocol/index.ts'

/** A delay that `setTimeout` can take: checked, and cut to the longest one. `name` begins the sentence of the error. */
export function timerMs(ms: number, name: string): number {
  if (!(ms > 0)) throw new RangeError(`${name} must be a number of milliseconds above 0.`)
  return Math.min(ms, MAX_TIMER_MS)
}

/** The longest time a timer takes: 24 days. */
export const LONGEST_MS = 2 ** 31 - 1

/** A time that a timer can take. More than that is as good as for ever. */
export function timerMs(ms: number, name: string): number {
  if (!(ms > 0)) throw new RangeError(`${name} must be a number of milliseconds above 0.`)
  return Math.min(ms, LONGEST_MS)
}

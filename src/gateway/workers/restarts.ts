/** When the next process of a worker is started in the place of one that has ended. */

const FIRST_MS = 100
const LONGEST_MS = 30_000
/** Who has lived for so long did not end because of how it was started. */
const STEADY_MS = 60_000

/** `before`: the pause before the process that has ended, which has lived for so long; 0 for the first one. */
export function restartPauseMs(before: number, livedMs: number): number {
  if (before === 0 || livedMs >= STEADY_MS) return FIRST_MS
  return Math.min(2 * before, LONGEST_MS)
}

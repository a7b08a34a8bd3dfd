const SWEEP_EVERY_MS = 30_000

/** Calls `sweep` at once and then, when asked again, at most every half minute: expired rows go without a timer. */
export function makeSweeper(clock: () => number, sweep: (nowMs: number) => void): () => void {
  let next = Number.NEGATIVE_INFINITY
  return () => {
    const now = clock()
    if (now < next) return
    next = now + SWEEP_EVERY_MS
    sweep(now)
  }
}

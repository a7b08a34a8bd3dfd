/** How long one answer may take by default. */
export const ANSWER_MS = 10_000

/** The time limit of one request. */
export interface TimeLimit {
  readonly signal: AbortSignal
  /** Whether the time is up; false if the outer signal aborted. */
  readonly isOver: boolean
  clear(): void
}

export function timeLimit(ms: number, outer: AbortSignal | undefined): TimeLimit {
  const abort = new AbortController()
  let isOver = false
  const timer = setTimeout(() => {
    isOver = true
    abort.abort()
  }, ms)
  return {
    signal: outer === undefined ? abort.signal : AbortSignal.any([abort.signal, outer]),
    get isOver() {
      return isOver
    },
    clear: () => clearTimeout(timer),
  }
}

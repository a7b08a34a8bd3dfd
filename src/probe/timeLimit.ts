/** An end that a request has in any case. */
export interface TimeLimit {
  readonly signal: AbortSignal
  /** Whether the time was up, and not somebody tired of waiting. */
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

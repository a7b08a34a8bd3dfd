/** An end that a request has in any case. */
export interface TimeLimit {
  readonly signal: AbortSignal
  /** Whether the time was up, and not somebody tired of waiting. */
  readonly isOver: boolean
  clear(): void
}

/** Waits until the signal, for work that cannot be told to end. */
export async function until<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const give = (): void => reject(signal.reason)
  signal.addEventListener('abort', give)
  if (signal.aborted) give()
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', give)
  }
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

/** The time limit of one request. */
export interface TimeLimit {
  readonly signal: AbortSignal
  /** Whether the time is up; false where the outer signal aborted. */
  readonly isOver: boolean
  clear(): void
}

/** Waits for work that takes no signal, until the signal aborts. */
export async function until<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
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

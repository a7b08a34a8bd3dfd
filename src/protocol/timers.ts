export const DAY_SECONDS = 86_400
export const DAY_MS = DAY_SECONDS * 1000

/** The longest delay that setTimeout accepts, about 24 days. With a longer one it fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** A delay that `setTimeout` can take: checked, and cut to the longest one. `name` begins the sentence of the error. */
export function timerMs(ms: number, name: string): number {
  if (!(ms > 0)) throw new RangeError(`${name} must be a number of milliseconds above 0.`)
  return Math.min(ms, MAX_TIMER_MS)
}

export interface BackoffOptions {
  readonly firstMs: number
  readonly maxMs: number
  /** How many times longer each pause is than the one before. @default 2 */
  readonly factor?: number
}

/** Exponential backoff: the pause before retry number `attempt`, which counts from 1. */
export function backoffMs(attempt: number, { firstMs, maxMs, factor = 2 }: BackoffOptions): number {
  return Math.min(firstMs * factor ** (attempt - 1), maxMs)
}

/**
 * Lets the process end although the timer has not fired. Timers are objects in Node; in Workers they may be numbers, and
 * there is no process to keep alive.
 */
export function unref<T extends NodeJS.Timeout | number>(timer: T): T {
  if (typeof timer === 'object') timer.unref()
  return timer
}

/**
 * Runs a function after everything that is ready to run has run. Pass this on instead of `setImmediate`, which Workers
 * refuse to run as a member of an object.
 */
export function runLater(fn: () => void): void {
  if (typeof setImmediate === 'function') setImmediate(fn)
  else setTimeout(fn)
}

const SLICE_MS = 5
/** The last turn of the event loop that a slice waits for. */
let lastTurn: Promise<void> = Promise.resolve()

/** The next turn of the event loop without a slice: each has one, however many callers process something. */
function freeTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise((resolve) => runLater(resolve)))
  return lastTurn
}

/** Processes items in slices of time, between which the event loop turns. */
export async function inSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  let began = performance.now()
  for (const item of items) {
    work(item)
    if (performance.now() - began < SLICE_MS) continue
    await freeTurn()
    began = performance.now()
  }
}

/**
 * Waits; rejects with the signal's reason as soon as it aborts. `node:timers/promises` rejects with an error of its own
 * and does not use the global timer, which tests replace.
 */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { promise, resolve } = Promise.withResolvers<void>()
  const wake = (): void => resolve()
  const timer = setTimeout(wake, ms)
  signal.addEventListener('abort', wake, { once: true })
  await promise
  clearTimeout(timer)
  signal.removeEventListener('abort', wake)
  signal.throwIfAborted()
}

/** Waits for work that takes no signal; rejects with the signal's reason as soon as it aborts. The work continues. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Waits for work to settle, for `limitMs` at most. Leaves no timer that would keep the process alive. */
export async function settledWithin(work: Promise<unknown> | undefined, limitMs: number): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, Math.max(0, limitMs))
  try {
    await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** A rate limit for log lines: returns true at most once per interval. */
export function onceEvery(intervalMs: number, clock: () => number): () => boolean {
  let lastAt = -Infinity
  return () => {
    if (clock() - lastAt < intervalMs) return false
    lastAt = clock()
    return true
  }
}

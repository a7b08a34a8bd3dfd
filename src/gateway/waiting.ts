import { unref } from '../protocol/index.ts'

/** Rejects with an error if the work takes longer than `withinMs`. */
export async function inTime<T>(work: T | Promise<T>, withinMs: number, late: () => Error): Promise<T> {
  const timeout = Promise.withResolvers<never>()
  const timer = unref(setTimeout(() => timeout.reject(late()), withinMs))
  try {
    return await Promise.race([work, timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Poll interval. A client that is disconnected at two polls in a row has probably not seen its question. */
const LOOK_EVERY_MS = 2500

/** Calls the listener when a client is absent at two polls in a row. Returns a function that stops polling. */
export function whenAbsent(isAbsent: () => boolean, listener: () => void): () => void {
  let absences = 0
  const look = (): void => {
    absences = isAbsent() ? absences + 1 : 0
    if (absences === 2) listener()
  }
  const looking = unref(setInterval(look, LOOK_EVERY_MS))
  return () => clearInterval(looking)
}

/** A condition that several tasks wait for. It wakes all of them, and each checks again. */
export class Waiters {
  readonly #wakes = new Set<() => void>()

  wakeAll(): void {
    for (const wake of this.#wakes) wake()
    this.#wakes.clear()
  }

  /** Resolves when woken, or after this time. */
  async wait(withinMs = Infinity): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = withinMs === Infinity ? undefined : unref(setTimeout(resolve, withinMs))
    this.#wakes.add(resolve)
    await promise
    clearTimeout(timer)
    this.#wakes.delete(resolve)
  }
}

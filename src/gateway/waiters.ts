import { unref } from '../protocol/index.ts'

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

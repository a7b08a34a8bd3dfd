/** Calls that wait for a link. A free link wakes all of them: the first may have its share already. */
export class PoolQueue {
  readonly #wakes: (() => void)[] = []

  wakeAll(): void {
    for (const wake of this.#wakes.splice(0)) wake()
  }

  /** Resolves when woken, or after this time. */
  async wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.#wakes.push(resolve)
    await promise
    clearTimeout(timer)
    const at = this.#wakes.indexOf(resolve)
    if (at >= 0) this.#wakes.splice(at, 1)
  }
}

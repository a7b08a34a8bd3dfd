/** Calls that wait for a link. Whoever comes next may have its share already, so all look again when one is free. */
export class PoolQueue {
  readonly #wakes: (() => void)[] = []

  wakeAll(): void {
    for (const wake of this.#wakes.splice(0)) wake()
  }

  /** Resolves when it is woken, or after this time. */
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

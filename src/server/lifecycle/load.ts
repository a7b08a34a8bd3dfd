/** Counts the calls in flight, and decides when checkpoints hand calls to other instances. */
export class Load {
  readonly #maxInFlight: number
  readonly #idle = new Set<() => void>()
  /** The calls that are handed over, and not yet answered. */
  readonly #leaving = new Set<object>()
  #inFlight = 0
  #draining = false

  constructor(maxInFlight = Number.POSITIVE_INFINITY) {
    this.#maxInFlight = maxInFlight
  }

  get inFlight(): number {
    return this.#inFlight
  }

  shedding(): 'no' | 'busy' | 'draining' {
    if (this.#draining) return 'draining'
    return this.#inFlight - this.#leaving.size > this.#maxInFlight ? 'busy' : 'no'
  }

  enter(): void {
    this.#inFlight++
  }

  /** Marks a call that leaves: it is in flight until its state is written, and no longer counts as load. */
  handOff(call: object): void {
    this.#leaving.add(call)
  }

  /** `call`: the object it was handed off as, if any. */
  leave(call?: object): void {
    this.#inFlight--
    if (call !== undefined && this.#leaving.size > 0) this.#leaving.delete(call)
    if (this.#inFlight === 0) for (const resolve of this.#idle) resolve()
  }

  /** From now on each checkpoint hands its call off. Resolves when no call is in flight, or at the deadline. */
  async drain(deadlineMs: number): Promise<void> {
    this.#draining = true
    if (this.#inFlight === 0) return
    let timer: ReturnType<typeof setTimeout> | undefined
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, deadlineMs)
      this.#idle.add(resolve)
    })
    clearTimeout(timer)
  }
}

/** How much this process has under way, and whether it wants to be rid of it. */
export class Load {
  readonly #maxInFlight: number
  readonly #idle = new Set<() => void>()
  #inFlight = 0
  #draining = false

  constructor(maxInFlight = Number.POSITIVE_INFINITY) {
    this.#maxInFlight = maxInFlight
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get draining(): boolean {
    return this.#draining
  }

  shedding(): 'no' | 'busy' | 'draining' {
    if (this.#draining) return 'draining'
    return this.#inFlight > this.#maxInFlight ? 'busy' : 'no'
  }

  enter(): void {
    this.#inFlight++
  }

  leave(): void {
    this.#inFlight--
    if (this.#inFlight === 0) for (const resolve of this.#idle) resolve()
  }

  /** From now on every checkpoint hands over; resolves when nothing is under way, or when the time is up. */
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

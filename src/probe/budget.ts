/** How many requests the probe may send. What it takes to clean up is kept back. */
export class Allowance {
  readonly limit: number
  #used = 0
  #keptBack = 0

  constructor(limit: number) {
    this.limit = limit
  }

  get used(): number {
    return this.#used
  }

  /** How many more may be sent, beside the cleaning up. */
  get left(): number {
    return this.limit - this.#used - this.#keptBack
  }

  /** Takes one if there are as many left as are `needed`: a request that may begin a session needs two, to end it. */
  take(needed: 1 | 2): boolean {
    if (this.left < needed) return false
    this.#used++
    return true
  }

  /** A session has begun; false where none is left to end it with. */
  keepBack(): boolean {
    if (this.left < 1) return false
    this.#keptBack++
    return true
  }

  /** The session is about to be ended. */
  release(): void {
    this.#keptBack--
  }
}

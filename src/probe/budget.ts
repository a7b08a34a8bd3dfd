/** The default number of requests. */
export const MAX_REQUESTS = 8
/** The default where checks, replicas or a tool are named. */
export const MAX_REQUESTS_EXTENDED = 32
/** With fewer requests the probe can neither decide nor end its sessions. */
export const MIN_REQUESTS = 4

/** How many requests the probe may send. One request is reserved for each open session, to end it. */
export class RequestBudget {
  readonly limit: number
  #used = 0
  #reserved = 0

  constructor(limit: number) {
    this.limit = limit
  }

  get used(): number {
    return this.#used
  }

  /** How many more may be sent, without the reserved ones. */
  get left(): number {
    return this.limit - this.#used - this.#reserved
  }

  /**
   * Takes one request if at least `needed` are left. A request that may begin a session needs two, because the second
   * one ends the session.
   */
  take(needed: 1 | 2): boolean {
    if (this.left < needed) return false
    this.#used++
    return true
  }

  /** Reserves one request to end a session that has begun; false if no request is left. */
  reserve(): boolean {
    if (this.left < 1) return false
    this.#reserved++
    return true
  }

  /** Gives a reserved request back, right before it is used. */
  release(): void {
    this.#reserved--
  }
}

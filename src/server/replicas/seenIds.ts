/** Which ids were here within a time: for what may be opened only once. */
export class SeenIds {
  readonly #clock: () => number
  readonly #keepMs: number
  /** Two generations: the newer is filled, the older only looked at, and each is dropped whole. */
  #newer = new Set<string>()
  #older = new Set<string>()
  #since: number

  constructor(clock: () => number, keepSeconds: number) {
    this.#clock = clock
    this.#keepMs = keepSeconds * 1000
    this.#since = clock()
  }

  /** Notes the id; false when it was here before. */
  add(id: string): boolean {
    const now = this.#clock()
    if (now - this.#since > this.#keepMs) {
      this.#older = now - this.#since > 2 * this.#keepMs ? new Set() : this.#newer
      this.#newer = new Set()
      this.#since = now
    }
    if (this.#newer.has(id) || this.#older.has(id)) return false
    this.#newer.add(id)
    return true
  }
}

/** Who came first goes first, although each may have to get ready before. Nobody waits where nobody is ahead. */
export class Turns {
  #taken = 0
  #current = 0
  readonly #waiting = new Map<number, () => void>()

  /** Whether nobody has a turn. */
  get areFree(): boolean {
    return this.#taken === this.#current
  }

  /** A turn behind all that were taken before. Each must be ended by `pass`. */
  take(): number {
    return this.#taken++
  }

  has(turn: number): boolean {
    return turn === this.#current
  }

  /** Comes back when it is this one's turn. */
  comes(turn: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(turn, resolve))
  }

  /** The turn goes to the next one, who goes when the work at hand is done. */
  pass(): void {
    this.#current++
    const go = this.#waiting.get(this.#current)
    if (go === undefined) return
    this.#waiting.delete(this.#current)
    go()
  }
}

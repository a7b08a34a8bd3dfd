/** How much of something each caller has, so that none of them takes all of it. */
export class CallerCounts {
  readonly #ofCaller = new Map<string, number>()
  #all = 0

  /** Of all callers together. */
  get all(): number {
    return this.#all
  }

  of(caller: string): number {
    return this.#ofCaller.get(caller) ?? 0
  }

  add(caller: string, amount = 1): void {
    this.#all += amount
    this.#ofCaller.set(caller, this.of(caller) + amount)
  }

  remove(caller: string, amount = 1): void {
    this.#all -= amount
    const left = this.of(caller) - amount
    if (left > 0) this.#ofCaller.set(caller, left)
    else this.#ofCaller.delete(caller)
  }
}

/** What one caller may have of so many: half, so that there is room for another. */
export function fairShareOf(total: number): number {
  return Math.max(1, Math.ceil(total / 2))
}

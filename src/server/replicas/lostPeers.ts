/** Instances that are gone. However many old session ids name one of them, it is not asked again for a while. */
const LOST_FOR_MS = 60_000
const MAX_LOST = 1000

export class LostPeers {
  readonly #clock: () => number
  /** Until when an instance counts as lost, and whether it said itself that it would go. */
  readonly #lost = new Map<string, { readonly until: number; readonly hasLeft: boolean }>()

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** `hasLeft`: it said itself that it would go. */
  add(id: string, hasLeft: boolean): void {
    const now = this.#clock()
    for (const [old, { until }] of this.#lost) {
      if (until > now && this.#lost.size < MAX_LOST) break
      this.#lost.delete(old)
    }
    this.#lost.set(id, { until: now + LOST_FOR_MS, hasLeft })
  }

  /** It is there again. */
  remove(id: string): void {
    this.#lost.delete(id)
  }

  has(id: string): boolean {
    return (this.#lost.get(id)?.until ?? 0) > this.#clock()
  }

  hasLeft(id: string): boolean {
    return this.has(id) && this.#lost.get(id)?.hasLeft === true
  }
}

import { groupOf } from '../../state/quota/index.ts'

/** The rate of a group of callers, as a multiple of one caller's rate. */
const GROUP_SHARE = 10

/** A rate limit: how often each caller may do something within a second; a group of callers may ten times as often. */
export class CallerRate {
  readonly #max: number
  readonly #clock: () => number
  readonly #taken = new Map<string, number>()
  #second = 0

  constructor(max: number, clock: () => number) {
    this.#max = max
    this.#clock = clock
  }

  /** False when the caller has done it too often. */
  take(caller: string): boolean {
    const second = Math.floor(this.#clock() / 1000)
    if (second !== this.#second) this.#taken.clear()
    this.#second = second
    const group = groupOf(caller)
    if (group === caller) return this.#takeOf(caller, this.#max)
    return this.#takeOf(group, this.#max * GROUP_SHARE) && this.#takeOf(caller, this.#max)
  }

  #takeOf(name: string, max: number): boolean {
    const taken = this.#taken.get(name) ?? 0
    if (taken < max) this.#taken.set(name, taken + 1)
    return taken < max
  }
}

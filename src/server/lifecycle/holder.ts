/**
 * Who holds what is bounded. Limits are counted by caller: the principal, or the session of an anonymous one. So one caller
 * cannot crowd out another, and where everything together is too much, the largest holder loses first.
 */
import type { Caller } from '../call.ts'

export function holderOf({ principal, peer }: Caller): string {
  return principal === undefined ? `session ${peer.session ?? ''}` : `principal ${principal.id}`
}

/** How often each holder may do something within a second. */
export class Allowance {
  readonly #max: number
  readonly #clock: () => number
  readonly #taken = new Map<string, number>()
  #second = 0

  constructor(max: number, clock: () => number) {
    this.#max = max
    this.#clock = clock
  }

  /** False when the holder has done it too often. */
  take(holder: string): boolean {
    const second = Math.floor(this.#clock() / 1000)
    if (second !== this.#second) this.#taken.clear()
    this.#second = second
    const taken = this.#taken.get(holder) ?? 0
    if (taken < this.#max) this.#taken.set(holder, taken + 1)
    return taken < this.#max
  }
}

/** What each holder has, oldest first. */
export class Holdings<T> {
  readonly #byHolder = new Map<string, Set<T>>()

  add(holder: string, item: T): void {
    const items = this.#byHolder.get(holder)
    if (items === undefined) this.#byHolder.set(holder, new Set([item]))
    else items.add(item)
  }

  delete(holder: string, item: T): void {
    const items = this.#byHolder.get(holder)
    items?.delete(item)
    if (items?.size === 0) this.#byHolder.delete(holder)
  }

  /** What each holder has, the holder of the most first. `size` measures what one has. */
  *largestFirst(size: (items: ReadonlySet<T>) => number): Generator<ReadonlySet<T>> {
    const all = Array.from(this.#byHolder.values(), (items) => ({ items, size: size(items) }))
    // Mostly the first one will do, and only if not are all of them sorted: there may be thousands.
    const largest = all.reduce((most, one) => (one.size > most.size ? one : most), all[0] ?? NOTHING)
    if (largest.size > 0) yield largest.items
    for (const one of all.sort((a, b) => b.size - a.size)) if (one !== largest) yield one.items
  }
}

const NOTHING = { items: new Set<never>(), size: 0 }

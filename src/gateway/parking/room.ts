/**
 * What callers hold together has a limit. Where it is too much, the largest holder loses first, and of that the oldest. What is
 * added, taken or looked for costs the same however much is held.
 */
import { LargestFirst } from './largestFirst.ts'

export interface RoomLimits {
  readonly maxCalls: number
  readonly maxChars: number
}

/** Something that a caller holds. */
export interface HeldItem {
  readonly caller: string
  readonly chars: number
}

export interface Amount {
  readonly calls: number
  readonly chars: number
}

interface Holder<T> {
  calls: number
  chars: number
  /** What may be taken from it, oldest first. */
  readonly takeable: Set<T>
}

const NOTHING: Amount = { calls: 0, chars: 0 }

export class Room<T extends HeldItem> {
  readonly #limits: RoomLimits
  readonly #holders = new Map<string, Holder<T>>()
  /** Holders from whom something may be taken. */
  readonly #byCalls = new LargestFirst<Holder<T>>(({ calls }) => calls)
  readonly #byChars = new LargestFirst<Holder<T>>(({ chars }) => chars)
  readonly #all = { calls: 0, chars: 0 }

  constructor(limits: RoomLimits) {
    this.#limits = limits
  }

  get all(): Amount {
    return this.#all
  }

  of(caller: string): Amount {
    return this.#holders.get(caller) ?? NOTHING
  }

  fits({ calls, chars }: Amount): boolean {
    return this.#all.calls + calls <= this.#limits.maxCalls && this.#all.chars + chars <= this.#limits.maxChars
  }

  add(item: T): void {
    const holder = this.#holders.get(item.caller) ?? { calls: 0, chars: 0, takeable: new Set<T>() }
    this.#holders.set(item.caller, holder)
    this.#count(holder, 1, item.chars)
  }

  /** The size of an item has changed by so much. */
  grow({ caller }: T, chars: number): void {
    const holder = this.#holders.get(caller)
    if (holder !== undefined) this.#count(holder, 0, chars)
  }

  delete(item: T): void {
    const holder = this.#holders.get(item.caller)
    if (holder === undefined) return
    holder.takeable.delete(item)
    this.#count(holder, -1, -item.chars)
    if (holder.calls === 0) this.#holders.delete(item.caller)
  }

  /** Whether an item may be taken from its holder. Nothing may at first. */
  setTakeable(item: T, isTakeable: boolean): void {
    const holder = this.#holders.get(item.caller)
    if (holder === undefined) return
    holder.takeable.delete(item)
    if (isTakeable) holder.takeable.add(item)
    this.#count(holder, 0, 0)
  }

  /** What is taken next, so that so much more fits. */
  next(more: Amount): T | undefined {
    return oldestOf(this.#largest(more))
  }

  /** The same, but only from one who has more than this caller would have then. */
  nextFor(caller: string, more: Amount): T | undefined {
    const largest = this.#largest(more)
    const own = this.of(caller)
    const isLarger = this.#isFullOf(more)
      ? (largest?.calls ?? 0) > own.calls + more.calls
      : (largest?.chars ?? 0) > own.chars + more.chars
    return isLarger ? oldestOf(largest) : undefined
  }

  #largest(more: Amount): Holder<T> | undefined {
    return this.#isFullOf(more) ? this.#byCalls.largest : this.#byChars.largest
  }

  /** Whether it is the number that is too much, and not the size. */
  #isFullOf({ calls }: Amount): boolean {
    return this.#all.calls + calls > this.#limits.maxCalls
  }

  #count(holder: Holder<T>, calls: number, chars: number): void {
    this.#all.calls += calls
    this.#all.chars += chars
    holder.calls += calls
    holder.chars += chars
    for (const ranking of [this.#byCalls, this.#byChars])
      if (holder.takeable.size > 0) ranking.set(holder)
      else ranking.delete(holder)
  }
}

function oldestOf<T>(holder: Holder<T> | undefined): T | undefined {
  const [oldest] = holder?.takeable ?? []
  return oldest
}

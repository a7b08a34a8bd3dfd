/** The items of a caller or of a group of callers, and the order of eviction among them. */

export type Measure = 'places' | 'chars'
export type Amount = Readonly<Record<Measure, number>>

/**
 * The callers that may evict an item: all, callers with no more items than its owner, callers with fewer items, or
 * none. Of one caller, items of the first kind are evicted first.
 */
export type Evictable = 'always' | 'unless-smaller' | 'if-larger' | 'never'

export interface QuotaItem<T> {
  readonly item: T
  readonly tally: Tally<T>
  chars: number
  evictable: Evictable
  /** The number of the change that made it evictable. */
  since: number
}

export interface Tally<T> {
  readonly name: string
  /** The group of a caller who is in one. */
  readonly group: Tally<T> | undefined
  /** The callers of a group. */
  readonly callers: Largest<T> | undefined
  /** The evictable items of a caller, oldest first. */
  readonly items: Map<Evictable, Set<QuotaItem<T>>>
  places: number
  chars: number
  /** Since when something is evictable; infinite where nothing is. */
  since: number
}

/** Those with something to evict, the largest on top. */
export type Largest<T> = Readonly<Record<Measure, Heap<Tally<T>>>>

const MEASURES = ['places', 'chars'] as const
const EVICTABLE = ['always', 'unless-smaller', 'if-larger'] as const

export function newTally<T>(name: string, parts: { group?: Tally<T> | undefined; callers?: Largest<T> }): Tally<T> {
  const { group, callers } = parts
  return { name, group, callers, items: new Map(), places: 0, chars: 0, since: Infinity }
}

/** Of those who have the same, the one comes first that has had something to evict for longest. */
export function newLargest<T>(): Largest<T> {
  const by = (measure: Measure): Heap<Tally<T>> =>
    new Heap((one, two) => one[measure] > two[measure] || (one[measure] === two[measure] && one.since < two.since))
  return { places: by('places'), chars: by('chars') }
}

/** Ranks a caller again, and its group. */
export function rank<T>(tally: Tally<T>, all: Largest<T>): void {
  const { group, callers } = tally
  tally.since = callers === undefined ? oldestSince(tally) : (callers.places.top?.since ?? Infinity)
  const largest = group?.callers ?? all
  for (const by of MEASURES) {
    if (tally.since < Infinity) largest[by].set(tally)
    else largest[by].delete(tally)
  }
  if (group !== undefined) rank(group, all)
}

function oldestSince<T>({ items }: Tally<T>): number {
  for (const evictable of EVICTABLE) for (const { since } of items.get(evictable) ?? []) return since
  return Infinity
}

/** The item that a caller, or the largest caller of a group, loses to a newcomer, who is counted already. */
export function loserOf<T>(tally: Tally<T> | undefined, by: Measure, newcomer?: Tally<T>): T | undefined {
  const caller = tally?.callers?.[by].top ?? tally
  for (const evictable of EVICTABLE) {
    if (caller === undefined || !mayLose(evictable, caller, by, newcomer)) continue
    for (const { item, chars } of caller.items.get(evictable) ?? []) if (by === 'places' || chars > 0) return item
  }
  return undefined
}

function mayLose<T>(evictable: Evictable, caller: Tally<T>, by: Measure, newcomer?: Tally<T>): boolean {
  if (evictable === 'always' || newcomer === undefined) return evictable === 'always'
  const [one, other] = [caller.group ?? caller, newcomer.group ?? newcomer]
  if (evictable === 'unless-smaller') return one[by] >= other[by]
  return one === other ? caller[by] > newcomer[by] : one[by] > other[by]
}

/** A binary heap, the largest item on top, with an index of where each item stands. */
export class Heap<T> {
  readonly #isLarger: (one: T, other: T) => boolean
  readonly #items: T[] = []
  readonly #indexes = new Map<T, number>()

  constructor(isLarger: (one: T, other: T) => boolean) {
    this.#isLarger = isLarger
  }

  get top(): T | undefined {
    return this.#items[0]
  }

  /** Adds an item, or moves one whose size has changed. */
  set(item: T): void {
    this.#settle(item, this.#indexes.get(item) ?? this.#items.push(item) - 1)
  }

  delete(item: T): void {
    const index = this.#indexes.get(item)
    if (index === undefined) return
    this.#indexes.delete(item)
    const last = this.#items.pop()
    if (last !== undefined && last !== item) this.#settle(last, index)
  }

  /** Moves an item from this index up past smaller ones, or down past larger ones. */
  #settle(item: T, from: number): void {
    let index = from
    while (index > 0) {
      const above = (index - 1) >> 1
      const parent = this.#items[above]
      if (parent === undefined || !this.#isLarger(item, parent)) break
      this.#put(parent, index)
      index = above
    }
    for (let child = this.#childOf(index); child !== undefined; child = this.#childOf(index)) {
      if (!this.#isLarger(child.item, item)) break
      this.#put(child.item, index)
      index = child.index
    }
    this.#put(item, index)
  }

  /** The larger of the two items below an index. */
  #childOf(index: number): { readonly item: T; readonly index: number } | undefined {
    const left = 2 * index + 1
    const [one, other] = [this.#items[left], this.#items[left + 1]]
    if (one === undefined) return undefined
    return other !== undefined && this.#isLarger(other, one)
      ? { item: other, index: left + 1 }
      : { item: one, index: left }
  }

  #put(item: T, index: number): void {
    this.#items[index] = item
    this.#indexes.set(item, index)
  }
}

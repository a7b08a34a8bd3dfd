/**
 * A quota: the limits of all callers together, of one caller, and of one group of callers. If an item does not fit, the
 * largest caller loses its oldest evictable item. Every operation takes O(log n).
 *
 * - Callers of one group, such as a network, count as one against others: the first line of a caller's name is its
 *   group.
 * - A caller with an empty second line stands for all of a group without a name, and has only the limit of the group.
 * - A single item of a caller may have any number of characters.
 */
import {
  type Amount,
  type Evictable,
  loserOf,
  type Measure,
  newLargest,
  newTally,
  type QuotaItem,
  rank,
  type Tally,
} from './tally.ts'

/** Whose limit it is. */
export type QuotaScope = 'caller' | 'group' | 'all'

export interface QuotaOptions<T> extends Readonly<Partial<Record<QuotaScope, Partial<Amount>>>> {
  /** Called with each evicted item, which no longer counts. */
  readonly evict?: (item: T) => void
}

export interface QuotaItemOptions {
  readonly caller: string
  /** @default 0 */
  readonly chars?: number
  /** @default 'always' */
  readonly evictable?: Evictable
}

interface Excess {
  readonly scope: QuotaScope
  readonly by: Measure
}

const NARROWEST_FIRST = ['caller', 'group', 'all'] as const
const WIDEST_FIRST = ['all', 'group', 'caller'] as const
const NOTHING: Amount = { places: 0, chars: 0 }

export class Quota<T = never> {
  readonly #options: QuotaOptions<T>
  readonly #callers = new Map<string, Tally<T>>()
  readonly #groups = new Map<string, Tally<T>>()
  readonly #items = new Map<T, QuotaItem<T>>()
  readonly #largest = newLargest<T>()
  readonly #all = { places: 0, chars: 0 }
  #changes = 0

  constructor(options: QuotaOptions<T> = {}) {
    this.#options = options
  }

  /** The amount of all callers together. */
  get all(): Amount {
    return this.#all
  }

  /** The number of callers that have something. */
  get callers(): number {
    return this.#callers.size
  }

  of(caller: string): Amount {
    return this.#callers.get(caller) ?? NOTHING
  }

  /** Whether an item fits without evicting another. */
  fits({ caller, chars = 0 }: QuotaItemOptions): boolean {
    const tally = this.#tallyOf(caller)
    this.#count(tally, 1, chars)
    const excess = this.#excess(tally, NARROWEST_FIRST)
    this.#count(tally, -1, -chars)
    return excess === undefined
  }

  /** Counts a place without an item. If it would exceed a limit, counts nothing and returns the widest such limit. */
  take(caller: string): QuotaScope | undefined {
    const tally = this.#tallyOf(caller)
    this.#count(tally, 1)
    const excess = this.#excess(tally, WIDEST_FIRST)
    if (excess !== undefined) this.#count(tally, -1)
    return excess?.scope
  }

  /** Gives back a place that was taken. */
  release(caller: string): void {
    const tally = this.#callers.get(caller)
    if (tally !== undefined) this.#count(tally, -1)
  }

  /** Counts an item, or counts it again; evicts others for it. False, and not counted, if it does not fit. */
  put(item: T, { caller, chars = 0, evictable = 'always' }: QuotaItemOptions): boolean {
    if (this.#resize(item, { caller, chars, evictable })) return true
    this.delete(item)
    const tally = this.#tallyOf(caller)
    this.#items.set(item, { item, tally, chars, evictable: 'never', since: 0 })
    this.#count(tally, 1, chars)
    const fits = this.#makeRoom(tally)
    if (fits) this.setEvictable(item, evictable)
    else this.delete(item)
    return fits
  }

  /** Counts an item again without changing its age; false if others would have to be evicted. */
  #resize(item: T, { caller, chars, evictable }: Required<QuotaItemOptions>): boolean {
    const found = this.#items.get(item)
    if (found?.tally.name !== caller || found.evictable !== evictable) return false
    this.#count(found.tally, 0, chars - found.chars)
    found.chars = chars
    return this.#excess(found.tally, NARROWEST_FIRST) === undefined
  }

  setEvictable(item: T, evictable: Evictable): void {
    const found = this.#items.get(item)
    if (found === undefined || found.evictable === evictable) return
    const { tally } = found
    tally.items.get(found.evictable)?.delete(found)
    if (evictable !== 'never') tally.items.set(evictable, (tally.items.get(evictable) ?? new Set()).add(found))
    found.evictable = evictable
    found.since = ++this.#changes
    rank(tally, this.#largest)
  }

  delete(item: T): void {
    this.setEvictable(item, 'never')
    const found = this.#items.get(item)
    if (found === undefined) return
    this.#items.delete(item)
    this.#count(found.tally, -1, -found.chars)
  }

  /**
   * Evicts an item of the largest caller by this measure, counting one more item for `caller`. False if none may be
   * evicted.
   */
  evict(by: Measure, caller?: string): boolean {
    if (caller === undefined) return this.#evict(loserOf(this.#largest[by].top, by))
    const newcomer = this.#tallyOf(caller)
    this.#count(newcomer, 1)
    const loser = loserOf(this.#largest[by].top, by, newcomer)
    this.#count(newcomer, -1)
    return this.#evict(loser)
  }

  /** Evicts until the newcomer, its group and all are within their limits. */
  #makeRoom(newcomer: Tally<T>): boolean {
    for (;;) {
      const excess = this.#excess(newcomer, NARROWEST_FIRST)
      if (excess === undefined) return true
      const { scope, by } = excess
      const from = { caller: newcomer, group: newcomer.group, all: this.#largest[by].top }[scope]
      if (!this.#evict(loserOf(from, by, newcomer))) return false
    }
  }

  #evict(loser: T | undefined): boolean {
    if (loser === undefined) return false
    this.delete(loser)
    this.#options.evict?.(loser)
    return true
  }

  /** The first of these limits that is exceeded. */
  #excess(caller: Tally<T>, scopes: readonly QuotaScope[]): Excess | undefined {
    for (const scope of scopes) {
      const { places: maxPlaces = Infinity, chars: maxChars = Infinity } = this.#options[scope] ?? {}
      const { places, chars } = this.#limited(caller, scope) ?? NOTHING
      if (places > maxPlaces) return { scope, by: 'places' }
      if (chars > maxChars && places > 1) return { scope, by: 'chars' }
    }
    return undefined
  }

  #limited(caller: Tally<T>, scope: QuotaScope): Amount | undefined {
    if (scope === 'all') return this.#all
    if (scope === 'group') return caller.group
    return caller.name.endsWith('\n') ? undefined : caller
  }

  #tallyOf(name: string): Tally<T> {
    const known = this.#callers.get(name)
    if (known !== undefined) return known
    const tally = newTally(name, { group: this.#groupTallyOf(name) })
    this.#callers.set(name, tally)
    return tally
  }

  #groupTallyOf(caller: string): Tally<T> | undefined {
    const name = groupOf(caller)
    if (name === caller) return undefined
    const group = this.#groups.get(name) ?? newTally<T>(name, { callers: newLargest() })
    this.#groups.set(name, group)
    return group
  }

  #count(tally: Tally<T>, places: number, chars = 0): void {
    const { group } = tally
    for (const each of [tally, group, this.#all]) {
      if (each === undefined) continue
      each.places += places
      each.chars += chars
    }
    if (this.#items.size > 0) rank(tally, this.#largest)
    if (tally.places === 0) this.#callers.delete(tally.name)
    if (group?.places === 0) this.#groups.delete(group.name)
  }
}

/** The group of a caller: the first line of its name. The second, which may be empty, distinguishes callers of the group. */
export function groupOf(caller: string): string {
  const end = caller.indexOf('\n')
  return end < 0 ? caller : caller.slice(0, end)
}

/** The share of one caller: half of all, so that there is room for another. */
export function fairShareOf(total: number): number {
  return Math.max(1, Math.ceil(total / 2))
}

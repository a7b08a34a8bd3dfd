/**
 * Who holds what is bounded. Limits are counted by caller: the principal, or the session of an anonymous one. So one caller
 * cannot crowd out another, and where everything together is too much, the largest holder loses first.
 *
 * Sessions cost nothing, so those of the anonymous form a group by the network that they come from, which has a limit of
 * its own. It is a larger one, because everybody behind one proxy, and many behind one router, have the same address.
 */
import { digestOf } from '../../state/internal.ts'
import { groupOf } from '../../state/stores/index.ts'
import type { Caller } from '../call.ts'

/** In two lines where the holder is one of a group: the group, and which of it. */
export function holderOf({ principal, peer, address }: Caller): string {
  if (principal !== undefined) return `principal ${principal.id.replaceAll('\n', ' ')}`
  const session = `session ${peer.session ?? ''}`
  if (address === undefined) return session
  return `network ${networkOf(address)}\n${peer.session === undefined ? '' : session}`
}

/** What goes to other instances names nobody; who is of one group stays so. */
export function hiddenHolder(holder: string): string {
  const group = groupOf(holder)
  return group === holder ? digestOf(holder) : `${digestOf(group)}\n${digestOf(holder)}`
}

/** Whoever has one address of IPv6 usually has its whole /64, so that is counted as one, however it is written. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const groups = groupsOf(address.split('%', 1).join(''))
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)
  if (isMapped) return bytesOf(groups.slice(6)).join('.')
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

/** The eight numbers of an address of IPv6. The last two may be written as an address of IPv4. */
function groupsOf(address: string): readonly number[] {
  const [head = [], tail] = address.split('::').map((part) => (part === '' ? [] : part.split(':').flatMap(numbersIn)))
  if (tail === undefined) return head
  return [...head, ...Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => 0), ...tail]
}

function numbersIn(group: string): readonly number[] {
  if (!group.includes('.')) return [Number.parseInt(group, 16)]
  const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
  return [a * 256 + b, c * 256 + d]
}

function bytesOf(groups: readonly number[]): readonly number[] {
  return groups.flatMap((group) => [group >> 8, group & 255])
}

/** How much more a group may do than one holder. */
const GROUP_SHARE = 10

/** How often each holder may do something within a second; a group may ten times as often. */
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
    const group = groupOf(holder)
    if (group === holder) return this.#takeOf(holder, this.#max)
    return this.#takeOf(group, this.#max * GROUP_SHARE) && this.#takeOf(holder, this.#max)
  }

  #takeOf(holder: string, max: number): boolean {
    const taken = this.#taken.get(holder) ?? 0
    if (taken < max) this.#taken.set(holder, taken + 1)
    return taken < max
  }
}

/** What one holder has, and whether no other has more: neither in its group, nor its group in all. */
export interface Holding<T> {
  readonly items: ReadonlySet<T>
  readonly isLargest: boolean
}

/** What each holder has, oldest first, by group. */
export class Holdings<T> {
  readonly #groups = new Map<string, Map<string, Set<T>>>()

  add(holder: string, item: T): void {
    const group = groupOf(holder)
    const holders = this.#groups.get(group) ?? new Map<string, Set<T>>()
    this.#groups.set(group, holders)
    const items = holders.get(holder)
    if (items === undefined) holders.set(holder, new Set([item]))
    else items.add(item)
  }

  delete(holder: string, item: T): void {
    const group = groupOf(holder)
    const holders = this.#groups.get(group)
    const items = holders?.get(holder)
    items?.delete(item)
    if (items?.size === 0) holders?.delete(holder)
    if (holders?.size === 0) this.#groups.delete(group)
  }

  /** What each holder has, the holder of the most in the group of the most first. `size` measures what one has. */
  *largestFirst(size: (items: ReadonlySet<T>) => number): Generator<Holding<T>> {
    const sizeOfGroup = (holders: ReadonlyMap<string, ReadonlySet<T>>): number => {
      let sum = 0
      for (const items of holders.values()) sum += size(items)
      return sum
    }
    for (const group of descending(this.#groups.values(), sizeOfGroup)) {
      for (const { item, isLargest } of descending(group.item.values(), size))
        yield { items: item, isLargest: isLargest && group.isLargest }
    }
  }
}

/** Mostly the first one will do, and only if not are all of them sorted: there may be thousands. */
function* descending<T>(
  items: Iterable<T>,
  sizeOf: (item: T) => number,
): Generator<{ readonly item: T; readonly isLargest: boolean }> {
  const all = Array.from(items, (item) => ({ item, size: sizeOf(item) }))
  const [first] = all
  if (first === undefined) return
  const largest = all.reduce((most, one) => (one.size > most.size ? one : most), first)
  yield { item: largest.item, isLargest: true }
  for (const one of all.sort((a, b) => b.size - a.size))
    if (one !== largest) yield { item: one.item, isLargest: one.size === largest.size }
}

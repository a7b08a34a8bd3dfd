/**
 * Who holds what is bounded. Limits are counted by caller: the principal, or the session of an anonymous one. So one caller
 * cannot crowd out another, and where everything together is too much, the largest holder loses first.
 */
import type { Caller } from '../call.ts'

export function holderOf({ principal, peer }: Caller): string {
  return principal === undefined ? `session ${peer.session ?? ''}` : `principal ${principal.id}`
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
    const left = new Set(this.#byHolder.values())
    // One look at each holder for each that is asked for: mostly the first one will do.
    for (let largest = maxBy(left, size); largest !== undefined; largest = maxBy(left, size)) {
      left.delete(largest)
      yield largest
    }
  }
}

function maxBy<T>(items: Iterable<T>, size: (item: T) => number): T | undefined {
  let largest: T | undefined
  let most = Number.NEGATIVE_INFINITY
  for (const item of items) {
    const measured = size(item)
    if (measured > most) [largest, most] = [item, measured]
  }
  return largest
}

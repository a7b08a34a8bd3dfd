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

/** Items by their size, the largest first: a binary heap that also knows where each item stands. */
export class LargestFirst<T> {
  readonly #sizeOf: (item: T) => number
  readonly #items: T[] = []
  readonly #places = new Map<T, number>()

  constructor(sizeOf: (item: T) => number) {
    this.#sizeOf = sizeOf
  }

  get largest(): T | undefined {
    return this.#items[0]
  }

  /** Adds an item, or finds its place again when its size has changed. */
  set(item: T): void {
    const place = this.#places.get(item) ?? this.#items.push(item) - 1
    this.#put(item, place)
    this.#sink(this.#rise(place))
  }

  delete(item: T): void {
    const place = this.#places.get(item)
    if (place === undefined) return
    this.#places.delete(item)
    const last = this.#items.pop()
    if (last === undefined || last === item) return
    this.#put(last, place)
    this.#sink(this.#rise(place))
  }

  /** Gives where the item stands then. */
  #rise(from: number): number {
    let place = from
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!this.#isLarger(place, parent)) break
      this.#swap(place, parent)
      place = parent
    }
    return place
  }

  #sink(from: number): void {
    for (let place = from; ; ) {
      const left = 2 * place + 1
      const child = this.#isLarger(left + 1, left) ? left + 1 : left
      if (!this.#isLarger(child, place)) return
      this.#swap(place, child)
      place = child
    }
  }

  /** False where there is no such place. */
  #isLarger(place: number, other: number): boolean {
    const [one, two] = [this.#items[place], this.#items[other]]
    return one !== undefined && two !== undefined && this.#sizeOf(one) > this.#sizeOf(two)
  }

  #swap(place: number, other: number): void {
    const [one, two] = [this.#items[place], this.#items[other]]
    if (one === undefined || two === undefined) return
    this.#put(two, place)
    this.#put(one, other)
  }

  #put(item: T, place: number): void {
    this.#items[place] = item
    this.#places.set(item, place)
  }
}

import type { RequestId } from '../../protocol/index.ts'

/** Something that has an idle timeout. */
export interface Idling {
  /** When something last happened to it, by `performance.now()`. */
  activeAt: number
}

/**
 * Idle timeouts of many items with one timer. An item that was not active for `timeoutMs` is given to `onIdle`, which
 * ends it or sets its `activeAt`. One timer is enough, because most items end long before their timeout.
 */
export class IdleTimers<Item extends Idling> {
  readonly #timeoutMs: number
  readonly #onIdle: (item: Item) => void
  readonly #items = new Map<RequestId, Item>()
  #timer: NodeJS.Timeout | undefined

  constructor(timeoutMs: number, onIdle: (item: Item) => void) {
    this.#timeoutMs = timeoutMs
    this.#onIdle = onIdle
  }

  get all(): Iterable<Item> {
    return this.#items.values()
  }

  /** Adds an item whose `activeAt` is now. */
  begin(key: RequestId, item: Item): void {
    this.#items.set(key, item)
    if (this.#timer === undefined) this.#schedule(this.#timeoutMs)
    else if (this.#items.size === 1) this.#timer.ref()
  }

  /** Removes an item. True if there was one. */
  end(key: RequestId): boolean {
    const existed = this.#items.delete(key)
    // The timer goes on for the next item. Without items it must not keep the process alive.
    if (this.#items.size === 0) this.#timer?.unref()
    return existed
  }

  endAll(): void {
    this.#items.clear()
    this.#timer?.unref()
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(() => this.#check(), ms)
  }

  #check(): void {
    try {
      for (const item of this.#items.values()) if (this.#leftMs(item) <= 0) this.#onIdle(item)
    } finally {
      this.#timer = undefined
      if (this.#items.size > 0) this.#schedule(this.#nextMs())
    }
  }

  #nextMs(): number {
    let nextMs = this.#timeoutMs
    for (const item of this.#items.values()) nextMs = Math.min(nextMs, this.#leftMs(item))
    return Math.ceil(nextMs)
  }

  #leftMs({ activeAt }: Item): number {
    return activeAt + this.#timeoutMs - performance.now()
  }
}

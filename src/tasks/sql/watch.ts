/**
 * The listeners that watch tasks. Tasks without a listener take no memory. All watched tasks are polled from time to
 * time in one statement, because events may be missed.
 */
import { keyOf, notExpired, type TaskStore } from './store.ts'

interface Watched {
  readonly address: string
  readonly listeners: Set<() => void>
  /** The version at the last poll: null when the task did not exist, undefined before the first poll. */
  seen: number | null | undefined
}

const MAX_BATCH = 1000

export class Watchers {
  readonly #store: TaskStore
  readonly #watched = new Map<string, Watched>()
  #timer: NodeJS.Timeout | undefined

  constructor(store: TaskStore) {
    this.#store = store
  }

  get size(): number {
    return this.#watched.size
  }

  watch(id: string, listener: () => void): () => void {
    const address = keyOf(this.#store, id)
    const watched = this.#watched.get(address) ?? { address, listeners: new Set(), seen: undefined }
    // A new function for each call, so that the same listener may be added twice and removed once.
    const entry = () => listener()
    watched.listeners.add(entry)
    this.#watched.set(address, watched)
    this.#pollLater()
    return () => {
      watched.listeners.delete(entry)
      if (watched.listeners.size === 0 && this.#watched.get(address) === watched) this.#watched.delete(address)
    }
  }

  notify(address: string): void {
    const watched = this.#watched.get(address)
    if (watched) this.#call(watched)
  }

  notifyAll(): void {
    for (const watched of this.#watched.values()) this.#call(watched)
  }

  close(): void {
    this.#watched.clear()
    clearTimeout(this.#timer)
  }

  #pollLater(): void {
    const { watchPollMs } = this.#store.driver
    if (watchPollMs === undefined || this.#timer !== undefined || this.size === 0) return
    this.#timer = setTimeout(() => void this.#pollAll(), watchPollMs).unref()
  }

  async #pollAll(): Promise<void> {
    const all = [...this.#watched.values()]
    for (let from = 0; from < all.length; from += MAX_BATCH) {
      // The owner of a listener gets this error when it reads the task.
      await this.#poll(all.slice(from, from + MAX_BATCH)).catch(() => {})
    }
    this.#timer = undefined
    this.#pollLater()
  }

  async #poll(some: readonly Watched[]): Promise<void> {
    const { driver, sql } = this.#store
    const rows = await driver.read<{ address: string; version: string | number }>(
      `SELECT t.address, t.version FROM ${sql.tasks} AS t
       WHERE ${sql.among('t.address', '$1', 'text')} AND ${notExpired(sql)}`,
      [some.map(({ address }) => address)],
    )
    const versions = new Map(rows.map(({ address, version }) => [address, Number(version)]))
    for (const watched of some) {
      const seen = versions.get(watched.address) ?? null
      const isChanged = seen !== watched.seen
      watched.seen = seen
      if (isChanged) this.#call(watched)
    }
  }

  #call({ listeners }: Watched): void {
    for (const listener of listeners) {
      try {
        listener()
      } catch (error) {
        const message = error instanceof Error ? error.message : undefined
        this.#store.logger().error({ message }, 'A listener that watches a task has thrown an error.')
      }
    }
  }
}

/** The listeners that watch tasks. Tasks without a listener take no memory. */
import type { ChangeRows } from './rows/changes.ts'
import type { SqliteTaskStore } from './store.ts'

export class SqliteWatchers {
  readonly #store: SqliteTaskStore
  readonly #changes: ChangeRows
  /** By task id, as JSON text like in the file. */
  readonly #listeners = new Map<unknown, Set<() => void>>()
  #seen = 0

  constructor(store: SqliteTaskStore, changes: ChangeRows) {
    this.#store = store
    this.#changes = changes
  }

  get size(): number {
    return this.#listeners.size
  }

  watch(id: string, listener: () => void): () => void {
    if (this.size === 0) this.#seen = this.#changes.last
    const key = JSON.stringify(id)
    const listeners = this.#listeners.get(key) ?? new Set()
    this.#listeners.set(key, listeners)
    // A new function for each call, so that the same listener may be added twice and removed once.
    const entry = () => listener()
    listeners.add(entry)
    return () => {
      listeners.delete(entry)
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key)
    }
  }

  /** Notifies the listeners of tasks that any process has changed since the last poll. */
  poll(): void {
    if (this.size === 0) return
    const last = this.#changes.last
    if (last === this.#seen) return
    const changed = this.#changes.since(this.#seen)
    this.#seen = last
    for (const id of changed) {
      for (const listener of this.#listeners.get(id) ?? []) this.#notify(listener)
    }
  }

  #notify(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      const message = error instanceof Error ? error.message : undefined
      this.#store.logger().error({ message }, 'A listener that watches a task has thrown an error.')
    }
  }
}

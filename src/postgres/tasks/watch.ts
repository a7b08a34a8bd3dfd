/**
 * The listeners that watch tasks. The notifier reports changes at once; missed changes are found by polling all watched
 * tasks from time to time, in one statement.
 */
import { taskKey } from './events.ts'
import { NOT_EXPIRED, addressDigest, type PostgresTaskStore, statements } from './store.ts'

interface Watched {
  readonly address: Buffer
  readonly listeners: Set<() => void>
  /** The version at the last poll: null when the task did not exist, undefined before the first poll. */
  seen: string | null | undefined
}

const POLL_MS = 2000
const POLL_MS_WITHOUT_NOTIFIER = 500
const MAX_BATCH = 1000

export class PostgresWatchers {
  readonly #store: PostgresTaskStore
  readonly #watched = new Map<string, Watched>()
  #timer: NodeJS.Timeout | undefined

  constructor(store: PostgresTaskStore) {
    this.#store = store
  }

  watch(id: string, listener: () => void): () => void {
    const name = taskKey(this.#store, id)
    const watched = this.#watched.get(name) ?? {
      address: addressDigest(this.#store, id),
      listeners: new Set(),
      seen: undefined,
    }
    // A new function for each call, so that the same listener may be added twice.
    const call = () => listener()
    watched.listeners.add(call)
    this.#watched.set(name, watched)
    this.#pollLater()
    return () => {
      watched.listeners.delete(call)
      if (watched.listeners.size === 0 && this.#watched.get(name) === watched) this.#watched.delete(name)
    }
  }

  notify(name: string): void {
    const watched = this.#watched.get(name)
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
    if (this.#timer !== undefined || this.#watched.size === 0) return
    const pauseMs = this.#store.database.notifier.isListening ? POLL_MS : POLL_MS_WITHOUT_NOTIFIER
    this.#timer = setTimeout(() => void this.#pollAll(), pauseMs).unref()
  }

  async #pollAll(): Promise<void> {
    const all = [...this.#watched.values()]
    for (let from = 0; from < all.length; from += MAX_BATCH) {
      // A listener's owner gets this error when it reads the task.
      await this.#poll(all.slice(from, from + MAX_BATCH)).catch(() => {})
    }
    this.#timer = undefined
    this.#pollLater()
  }

  async #poll(some: readonly Watched[]): Promise<void> {
    const sql = await statements(this.#store)
    const rows = await sql.rows<{ address: Buffer; version: string }>(
      `SELECT t.address, t.version FROM ${this.#store.database.names.tables}.tasks AS t
       WHERE t.address = ANY($1::bytea[]) AND ${NOT_EXPIRED}`,
      [some.map(({ address }) => address)],
    )
    const versions = new Map(rows.map(({ address, version }) => [address.toString('hex'), version]))
    for (const watched of some) {
      const seen = versions.get(watched.address.toString('hex')) ?? null
      const isChanged = seen !== watched.seen
      watched.seen = seen
      if (isChanged) this.#call(watched)
    }
  }

  #call({ listeners }: Watched): void {
    for (const listener of listeners) {
      try {
        listener()
      } catch {
        this.#store.logger().warn({}, 'A listener that watches a task has thrown an error.')
      }
    }
  }
}

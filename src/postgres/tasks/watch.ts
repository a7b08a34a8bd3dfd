/**
 * Who watches which task. The bell tells of changes at once; what it did not tell is found by looking at all tasks that
 * are watched, in one statement, from time to time.
 */
import { newsName } from './events.ts'
import { ALIVE, addressOf, type Store } from './store.ts'

interface Watched {
  readonly address: Buffer
  readonly listeners: Set<() => void>
  /** What was seen last: the version of the task, null when there was none, undefined before the first look. */
  seen: string | null | undefined
}

const LOOK_MS = 2000
const LOOK_MS_UNHEARD = 500
const MOST_AT_ONCE = 1000

export class Watching {
  readonly #store: Store
  readonly #watched = new Map<string, Watched>()
  #timer: NodeJS.Timeout | undefined

  constructor(store: Store) {
    this.#store = store
  }

  watch(id: string, listener: () => void): () => void {
    const name = newsName(this.#store, id)
    const watched = this.#watched.get(name) ?? {
      address: addressOf(this.#store, id),
      listeners: new Set(),
      seen: undefined,
    }
    // The same function may watch twice.
    const call = () => listener()
    watched.listeners.add(call)
    this.#watched.set(name, watched)
    this.#lookLater()
    return () => {
      watched.listeners.delete(call)
      if (watched.listeners.size === 0 && this.#watched.get(name) === watched) this.#watched.delete(name)
    }
  }

  changed(name: string): void {
    const watched = this.#watched.get(name)
    if (watched) this.#call(watched)
  }

  missed(): void {
    for (const watched of this.#watched.values()) this.#call(watched)
  }

  close(): void {
    this.#watched.clear()
    clearTimeout(this.#timer)
  }

  #lookLater(): void {
    if (this.#timer !== undefined || this.#watched.size === 0) return
    const pauseMs = this.#store.database.bell.isListening ? LOOK_MS : LOOK_MS_UNHEARD
    this.#timer = setTimeout(() => void this.#lookAndGoOn(), pauseMs).unref()
  }

  async #lookAndGoOn(): Promise<void> {
    const all = [...this.#watched.values()]
    for (let from = 0; from < all.length; from += MOST_AT_ONCE) {
      // Whoever watches learns of a database that is away when it reads.
      await this.#look(all.slice(from, from + MOST_AT_ONCE)).catch(() => {})
    }
    this.#timer = undefined
    this.#lookLater()
  }

  async #look(some: readonly Watched[]): Promise<void> {
    const sql = await this.#store.database.statements()
    const rows = await sql.rows<{ address: Buffer; version: string }>(
      `SELECT t.address, t.version FROM ${this.#store.database.names.tables}.tasks AS t
       WHERE t.address = ANY($1::bytea[]) AND ${ALIVE}`,
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
        this.#store.logger().warn({}, 'Somebody who watches a task failed when it was told of a change.')
      }
    }
  }
}

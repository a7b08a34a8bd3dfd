import { backoffMs, isObject } from '../../protocol/index.ts'
import type { ServerEvent } from '../../server/index.ts'
import { type BusTable, EVENT_LIFE_MS, RETRY } from './busTable.ts'

// Age of events that may be delivered although they are older than the bus, because the first statement comes a little
// after the start.
const START_SLACK_MS = 1000
const PUBLISHER = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Reads the events of other publishers, one statement at a time. */
export class Inbox {
  readonly #table: BusTable
  readonly #deliver: (event: ServerEvent) => void
  /** The number of the last event of each publisher, and when it was read. */
  readonly #last = new Map<string, { readonly number: number; readonly readAt: number }>()
  /** Publishers with new events. */
  readonly #unread = new Set<string>()
  #mustSearch = false
  #isReading = false
  #startedAt = 0
  #failures = 0
  #retryTimer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(table: BusTable, deliver: (event: ServerEvent) => void) {
    this.#table = table
    this.#deliver = deliver
  }

  /** Starts the delivery of events that are published from now on. */
  start(): void {
    this.#startedAt = performance.now()
  }

  readFrom(publisher: string): void {
    // Every user of the database can send notifications, so the id is not trusted.
    if (!PUBLISHER.test(publisher)) return
    this.#unread.add(publisher)
    if (this.#retryTimer === undefined) this.#read()
  }

  /** Reads from every publisher that has new events. */
  readAll(): void {
    this.#mustSearch = true
    if (this.#retryTimer === undefined) this.#read()
  }

  /** Ends the pause after a failure. */
  retry(): void {
    if (this.#retryTimer !== undefined) this.#read()
  }

  /** Forgets publishers whose events have all expired. */
  forgetOld(): void {
    const oldest = performance.now() - 2 * EVENT_LIFE_MS
    for (const [publisher, { readAt }] of this.#last) if (readAt < oldest) this.#last.delete(publisher)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retryTimer)
  }

  #read(): void {
    clearTimeout(this.#retryTimer)
    this.#retryTimer = undefined
    if (!this.#isReading) void this.#readUnread()
  }

  async #readUnread(): Promise<void> {
    this.#isReading = true
    try {
      while (!this.#isClosed && (this.#mustSearch || this.#unread.size > 0)) {
        if (this.#mustSearch) await this.#search()
        const [publisher] = this.#unread
        if (publisher !== undefined) await this.#readNext(publisher)
      }
      this.#failures = 0
    } catch {
      this.#retryLater()
    } finally {
      this.#isReading = false
    }
  }

  #retryLater(): void {
    if (this.#isClosed || this.#table.isClosed) return
    this.#retryTimer = setTimeout(() => this.#read(), backoffMs(++this.#failures, RETRY)).unref()
  }

  async #search(): Promise<void> {
    this.#mustSearch = false
    try {
      for (const { publisher, newest } of await this.#table.publishers(this.#maxAgeMs)) {
        if (newest > this.#lastNumber(publisher)) this.#unread.add(publisher)
      }
    } catch (error) {
      this.#mustSearch = true
      throw error
    }
  }

  async #readNext(publisher: string): Promise<void> {
    // Before the statement, because a notification during it means that there are more events.
    this.#unread.delete(publisher)
    try {
      const { events, isFull } = await this.#table.read(publisher, this.#lastNumber(publisher), this.#maxAgeMs)
      if (isFull) this.#unread.add(publisher)
      for (const { number, text } of events) {
        this.#last.set(publisher, { number, readAt: performance.now() })
        const event = parseEvent(text)
        if (event !== undefined) this.#deliver(event)
      }
    } catch (error) {
      this.#unread.add(publisher)
      throw error
    }
  }

  #lastNumber(publisher: string): number {
    return this.#last.get(publisher)?.number ?? 0
  }

  /** The age of the bus: older events were published before it began. */
  get #maxAgeMs(): number {
    return Math.min(performance.now() - this.#startedAt + START_SLACK_MS, EVENT_LIFE_MS)
  }
}

/** Undefined if the text is no event. Listeners ignore kinds that only a newer version knows. */
function parseEvent(text: string): ServerEvent | undefined {
  try {
    const event: unknown = JSON.parse(text)
    return isObject(event) && typeof event['kind'] === 'string' ? (event as unknown as ServerEvent) : undefined
  } catch {
    return undefined
  }
}

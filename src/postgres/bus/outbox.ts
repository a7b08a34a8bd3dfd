import { backoffMs } from '../../protocol/index.ts'
import { type BusTable, EVENT_LIFE_MS, MAX_BATCH, type NumberedEvent, RETRY } from './busTable.ts'

interface WaitingEvent extends NumberedEvent {
  readonly queuedAt: number
}

const MAX_QUEUE = { events: 100_000, bytes: 1 << 26 }

/** Writes events to the table, in order, with retries. When the queue is full, the oldest events are lost. */
export class Outbox {
  readonly #table: BusTable
  readonly #onWritten: () => void
  readonly #maxQueue: typeof MAX_QUEUE
  readonly #queue: WaitingEvent[] = []
  #queuedBytes = 0
  #number = 0
  #writtenAt = Number.NEGATIVE_INFINITY
  #writing: Promise<void> | undefined
  #isWriting = false
  #failures = 0
  #retryTimer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(table: BusTable, onWritten: () => void, maxQueue = MAX_QUEUE) {
    this.#table = table
    this.#onWritten = onWritten
    this.#maxQueue = maxQueue
  }

  /** Whether the table still has events of this publisher. */
  get hasRecent(): boolean {
    return performance.now() - this.#writtenAt < EVENT_LIFE_MS
  }

  add(text: string): void {
    this.#queue.push({ number: ++this.#number, text, queuedAt: performance.now() })
    this.#queuedBytes += Buffer.byteLength(text)
    const { events, bytes } = this.#maxQueue
    while (this.#queue.length > events || this.#queuedBytes > bytes) this.#drop(1)
    if (this.#retryTimer === undefined) this.#write()
  }

  /** Ends the pause after a failure. */
  retry(): void {
    if (this.#retryTimer !== undefined) this.#write()
  }

  /** Tries once more to write the waiting events. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#write()
    await this.#writing
  }

  #write(): void {
    clearTimeout(this.#retryTimer)
    this.#retryTimer = undefined
    if (this.#isWriting) return
    this.#isWriting = true
    this.#writing = this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    try {
      for (let batch = this.#nextBatch(); batch.length > 0; batch = this.#nextBatch()) {
        await this.#table.insert(batch)
        this.#failures = 0
        this.#writtenAt = performance.now()
        this.#dropWhile(({ number }) => number <= (batch.at(-1)?.number ?? 0))
        this.#onWritten()
      }
    } catch {
      this.#retryLater()
    } finally {
      this.#isWriting = false
    }
  }

  /** Every failure counts as temporary. Events that wait too long are dropped. */
  #retryLater(): void {
    if (this.#isClosed || this.#table.isClosed) return
    this.#retryTimer = setTimeout(() => this.#write(), backoffMs(++this.#failures, RETRY)).unref()
  }

  #nextBatch(): WaitingEvent[] {
    const oldest = performance.now() - EVENT_LIFE_MS
    this.#dropWhile(({ queuedAt }) => queuedAt < oldest)
    const batch: WaitingEvent[] = []
    let bytes = 0
    for (const event of this.#queue) {
      bytes += Buffer.byteLength(event.text)
      if (batch.length === MAX_BATCH.events || (batch.length > 0 && bytes > MAX_BATCH.bytes)) break
      batch.push(event)
    }
    return batch
  }

  #dropWhile(isOver: (event: WaitingEvent) => boolean): void {
    const kept = this.#queue.findIndex((event) => !isOver(event))
    this.#drop(kept === -1 ? this.#queue.length : kept)
  }

  #drop(count: number): void {
    for (const { text } of this.#queue.splice(0, count)) this.#queuedBytes -= Buffer.byteLength(text)
  }
}

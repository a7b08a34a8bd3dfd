/**
 * Events between instances: a queue for each instance, and the events of the last seconds for instances that join
 * later. Delivery is best effort: events over the limits are dropped.
 */
import type { Json } from '../protocol/index.ts'

/** Plain JSON. `scope`: the scope that published it. */
export type ClusterEvent = Json & { readonly kind: string; readonly scope?: string }

/** Publish and subscribe. Events also reach their publisher. */
export interface ClusterBus {
  publish(event: ClusterEvent): void
  /** Returns the function that ends the subscription. */
  subscribe(listener: (event: ClusterEvent) => void): () => void
}

// Clients choose parts of some events, such as the id of a cancelled request, so their size is limited.
const MAX_EVENT_CHARS = 100_000
const MAX_EVENTS_EACH = 200
const MAX_CHARS_EACH = 1_000_000
const MAX_WAITING_EVENTS = 10_000
const MAX_WAITING_CHARS = 16_000_000

interface QueuedEvent {
  readonly event: ClusterEvent
  readonly chars: number
  readonly at: number
}

/** A FIFO queue of events. Over the limit the oldest are dropped; an event that is too large is never queued. */
export class EventQueue {
  readonly #events: QueuedEvent[] = []
  #chars = 0

  get isEmpty(): boolean {
    return this.#events.length === 0
  }

  /** `at`: the time at which it was published, if `since` is used. */
  push(event: ClusterEvent, at = 0): void {
    const chars = JSON.stringify(event).length
    if (chars > MAX_EVENT_CHARS) return
    this.#events.push({ event, chars, at })
    this.#chars += chars
    while (this.#events.length > MAX_WAITING_EVENTS || this.#chars > MAX_WAITING_CHARS) this.#drop(1)
  }

  /** Drops the events before that time, and returns the rest. */
  since(at: number): readonly ClusterEvent[] {
    this.dropBefore(at)
    return this.#events.map(({ event }) => event)
  }

  dropBefore(at: number): void {
    const first = this.#events.findIndex((queued) => queued.at >= at)
    this.#drop(first < 0 ? this.#events.length : first)
  }

  /** Takes the oldest events, up to the size of one message. */
  take(): readonly ClusterEvent[] {
    let chars = 0
    const end = this.#events.findIndex((queued, index) => {
      chars += queued.chars
      return index === MAX_EVENTS_EACH || chars > MAX_CHARS_EACH
    })
    return this.#drop(end < 0 ? this.#events.length : end).map(({ event }) => event)
  }

  #drop(count: number): readonly QueuedEvent[] {
    const dropped = this.#events.splice(0, count)
    for (const { chars } of dropped) this.#chars -= chars
    return dropped
  }
}

/**
 * The events queued for one instance. One message is in flight at a time; events published in the meantime go into the
 * next one.
 */
export class EventOutbox {
  readonly #queue = new EventQueue()
  readonly #send: (events: readonly ClusterEvent[]) => Promise<boolean>
  /** Resolves when the queue is empty; undefined while nothing is being sent. */
  #sending: Promise<void> | undefined

  /** `send` posts one message and returns false if the instance is gone; the queue is kept then. */
  constructor(send: (events: readonly ClusterEvent[]) => Promise<boolean>) {
    this.#send = send
  }

  push(event: ClusterEvent): void {
    this.#queue.push(event)
  }

  /** Starts to send the queue. */
  start(): void {
    if (this.#queue.isEmpty) return
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = undefined))
  }

  /** Resolves when the queue is empty, or the instance is gone. */
  async sent(): Promise<void> {
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    while (!this.#queue.isEmpty) if (!(await this.#send(this.#queue.take()))) return
  }
}

/**
 * Events between instances: a queue for each instance, and the events of the last seconds for instances that join only
 * now. Delivery is best effort: events over the limits are dropped.
 */
import type { Json } from '../protocol/index.ts'
import { RECENT_EVENTS_MS } from './times.ts'

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
}

/** Events that wait to be sent. Over the limit the oldest are dropped; an event that is too large is never queued. */
export class EventQueue {
  readonly #events: QueuedEvent[] = []
  #chars = 0

  get isEmpty(): boolean {
    return this.#events.length === 0
  }

  push(event: ClusterEvent): void {
    const chars = JSON.stringify(event).length
    if (chars <= MAX_EVENT_CHARS) this.#push({ event, chars })
  }

  /** Adds all events of another queue. */
  pushAll(other: EventQueue): void {
    for (const queued of other.#events) this.#push(queued)
  }

  clear(): void {
    this.#events.length = 0
    this.#chars = 0
  }

  /** Takes the oldest events, as many as one message may hold. */
  take(): ClusterEvent[] {
    let chars = 0
    const end = this.#events.findIndex((queued, index) => {
      chars += queued.chars
      return index === MAX_EVENTS_EACH || chars > MAX_CHARS_EACH
    })
    const taken = this.#events.splice(0, end < 0 ? this.#events.length : end)
    for (const queued of taken) this.#chars -= queued.chars
    return taken.map(({ event }) => event)
  }

  #push(queued: QueuedEvent): void {
    this.#events.push(queued)
    this.#chars += queued.chars
    while (this.#events.length > MAX_WAITING_EVENTS || this.#chars > MAX_WAITING_CHARS) {
      this.#chars -= this.#events.shift()?.chars ?? 0
    }
  }
}

/** The events of the last seconds. */
export class RecentEvents {
  readonly #clock: () => number
  /** Two generations: the newer is filled, and each is dropped whole. */
  #newer = new EventQueue()
  #older = new EventQueue()
  #since: number

  constructor(clock: () => number) {
    this.#clock = clock
    this.#since = clock()
  }

  push(event: ClusterEvent): void {
    this.#turn()
    this.#newer.push(event)
  }

  /** A queue with all of them. */
  queue(): EventQueue {
    this.#turn()
    const queue = new EventQueue()
    queue.pushAll(this.#older)
    queue.pushAll(this.#newer)
    return queue
  }

  /** The events of one kind. */
  of(kind: string): ClusterEvent[] {
    const queue = this.queue()
    const events: ClusterEvent[] = []
    while (!queue.isEmpty) events.push(...queue.take().filter((event) => event.kind === kind))
    return events
  }

  #turn(): void {
    const age = this.#clock() - this.#since
    if (age <= RECENT_EVENTS_MS) return
    this.#older = age > 2 * RECENT_EVENTS_MS ? new EventQueue() : this.#newer
    this.#newer = new EventQueue()
    this.#since = this.#clock()
  }
}

/**
 * The events queued for one instance. One message is in flight at a time; events published meanwhile go into the next
 * one.
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

  pushAll(queue: EventQueue): void {
    this.#queue.pushAll(queue)
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

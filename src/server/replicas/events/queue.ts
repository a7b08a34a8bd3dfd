import type { ServerEvent } from '../../lifecycle/eventBus.ts'

// Clients choose parts of some events, such as the id of a cancelled request.
const MAX_EVENT_CHARS = 100_000
const MAX_EVENTS_EACH = 200
const MAX_CHARS_EACH = 1_000_000
const MAX_WAITING_EVENTS = 10_000
const MAX_WAITING_CHARS = 16_000_000

interface QueuedEvent {
  readonly event: ServerEvent
  readonly chars: number
}

/** Events that wait to be sent. What is too much is dropped, oldest first, and an event that is too large at once. */
export class EventQueue {
  readonly #events: QueuedEvent[] = []
  #chars = 0

  get isEmpty(): boolean {
    return this.#events.length === 0
  }

  push(event: ServerEvent): void {
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

  /** The oldest events, as many as one message may hold. */
  take(): ServerEvent[] {
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

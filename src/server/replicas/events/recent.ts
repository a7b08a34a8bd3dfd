import type { ServerEvent } from '../../lifecycle/eventBus.ts'
import { EventQueue } from './queue.ts'

const RECENT_MS = 5000

/** The events of the last seconds, for instances that are met only now. */
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

  push(event: ServerEvent): void {
    this.#turn()
    this.#newer.push(event)
  }

  /** A queue that holds them. */
  queue(): EventQueue {
    this.#turn()
    const queue = new EventQueue()
    queue.pushAll(this.#older)
    queue.pushAll(this.#newer)
    return queue
  }

  /** The cancellations among them. */
  cancellations(): ServerEvent[] {
    const queue = this.queue()
    const events: ServerEvent[] = []
    while (!queue.isEmpty) events.push(...queue.take().filter(({ kind }) => kind === 'cancelled'))
    return events
  }

  #turn(): void {
    const age = this.#clock() - this.#since
    if (age <= RECENT_MS) return
    this.#older = age > 2 * RECENT_MS ? new EventQueue() : this.#newer
    this.#newer = new EventQueue()
    this.#since = this.#clock()
  }
}

/** Events on their way to one instance: one message at a time. What is published meanwhile goes with the next. */
import type { ServerEvent } from '../../lifecycle/eventBus.ts'
import { EventQueue } from './queue.ts'

export class EventOutbox {
  readonly #queue = new EventQueue()
  readonly #send: (events: readonly ServerEvent[]) => Promise<'delivered' | 'gone'>
  /** Resolves when no event waits; absent when none does. */
  #sending: Promise<void> | undefined

  /** `send` posts one message. What waits is kept where the instance is gone. */
  constructor(send: (events: readonly ServerEvent[]) => Promise<'delivered' | 'gone'>) {
    this.#send = send
  }

  push(event: ServerEvent): void {
    this.#queue.push(event)
  }

  pushAll(queue: EventQueue): void {
    this.#queue.pushAll(queue)
  }

  /** Begins to send what waits. */
  start(): void {
    if (this.#queue.isEmpty) return
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = undefined))
  }

  /** Resolves when no event waits, or the instance is gone. */
  async sent(): Promise<void> {
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    while (!this.#queue.isEmpty) if ((await this.#send(this.#queue.take())) === 'gone') return
  }
}

/** Streams and their calls on the way from an instance that stops to another one. */
import type { Caller } from '../../call.ts'
import type { EventBus } from '../../lifecycle/eventBus.ts'
import { type Instance, readInstance, type Self, writeInstance } from '../../replicas/instance.ts'
import type { RevivedCall, StreamHandOver } from './handOver.ts'
import type { PushBroker } from './broker.ts'
import type { StreamResumption } from '../streams/resumption.ts'
import type { LegacyStream } from '../streams/stream.ts'
import type { LegacyStreams } from '../streams/streams.ts'

/** Gives a stream to another instance; gives that instance, or undefined when there is none to take it. */
export type HandOver = (stream: StreamHandOver) => Promise<Instance | undefined>

export interface HandOversOptions {
  readonly self: Self
  readonly bus: EventBus
  readonly streams: LegacyStreams
  readonly pushes: PushBroker
  readonly returning: StreamResumption
  readonly handOver: HandOver
  /** Runs a call of another instance here. */
  readonly revive: (call: RevivedCall, caller: Caller, stream: LegacyStream) => void
}

/** Also tells where the stream went: the instance that took it may have just started, and know nobody. */
export function announced(bus: EventBus, handOver: HandOver): HandOver {
  return async (stream) => {
    const to = await handOver(stream)
    if (to !== undefined) bus.publish({ kind: 'stream-moved', stream: stream.name, to: writeInstance(to) })
    return to
  }
}

export class HandOvers {
  readonly #options: HandOversOptions
  /** Streams that another instance has, too. */
  readonly #handedOver = new WeakSet<LegacyStream>()
  readonly #underWay = new Set<Promise<void>>()
  #isLeaving = false

  constructor(options: HandOversOptions) {
    this.#options = options
    const { bus, pushes } = options
    bus.subscribe((event) => {
      if (event.kind === 'question-wanted' && pushes.hasAdopted(event.question)) this.#announce([event.question])
      if (event.kind === 'questions-moved') this.#noteMoved(event.questions, event.to)
    })
  }

  /**
   * Hands over the streams that were sent something which their clients have yet to come back for: now, and from now on
   * whenever `finished` says that there may be more. Resolves when those that are known have arrived.
   */
  async unseen(): Promise<void> {
    this.#isLeaving = true
    const { streams } = this.#options
    for (const stream of streams.unseen()) {
      if (this.#handedOver.has(stream)) continue
      const handingOver = this.#handOver(stream).finally(() => this.#underWay.delete(handingOver))
      this.#underWay.add(handingOver)
    }
    await Promise.all(this.#underWay)
  }

  /** A call has come to its end. */
  finished(): void {
    if (this.#isLeaving) void this.unseen()
  }

  /** Takes a stream of an instance that stops, with its call if that goes on; false when this one stops, too. */
  async adopt(handedOver: StreamHandOver): Promise<boolean> {
    const { streams, pushes, returning, revive } = this.#options
    if (pushes.isDraining) return false
    const { name, caller, call } = handedOver
    if (call !== undefined && pushes.has(call.call)) return true // it was sent twice, because a reply was late
    if (call === undefined) {
      streams.adopt(handedOver)
      returning.tookOver(name, caller)
      return true
    }
    const revived = await pushes.adopt(call, name, caller)
    if (revived === undefined) return true // another instance goes on with it
    const stream = streams.adopt(handedOver)
    this.#announce(call.questions.map(({ question }) => question))
    revive(revived, caller, stream)
    return true
  }

  async #handOver(stream: LegacyStream): Promise<void> {
    const { streams, handOver } = this.#options
    const caller = streams.callerOf(stream)
    if (caller === undefined) return
    this.#handedOver.add(stream)
    const to = await handOver({ name: stream.name, caller, ...stream.contents() })
    if (to === undefined) this.#handedOver.delete(stream)
  }

  #announce(questions: readonly string[]): void {
    const { bus, self } = this.#options
    bus.publish({ kind: 'questions-moved', questions, to: writeInstance(self) })
  }

  #noteMoved(questions: readonly string[], to: unknown): void {
    const { pushes, self } = this.#options
    const instance = readInstance(to)
    if (instance !== undefined && instance.id !== self.id) pushes.noteMoved(questions, instance)
  }
}

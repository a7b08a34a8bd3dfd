/** The hand-off of streams and their calls from a stopping instance to another one. */
import type { Caller } from '../../call.ts'
import type { Instance, Owners } from '../../../cluster/index.ts'
import type { ResumedCall, StreamHandOff } from './handOff.ts'
import type { PushBroker } from './broker.ts'
import type { StreamResumption } from '../streams/resumption.ts'
import type { LegacyStream } from '../streams/stream.ts'
import type { LegacyStreams } from '../streams/streams.ts'

/** Hands a stream off; returns its new owner, or undefined if no instance accepts it. */
export type HandOff = (stream: StreamHandOff) => Promise<Instance | undefined>

export interface HandOffsOptions {
  readonly streams: LegacyStreams
  readonly pushes: PushBroker
  readonly returning: StreamResumption
  readonly handOff: HandOff
  /** Runs a call of another instance here. */
  readonly resume: (call: ResumedCall, caller: Caller, stream: LegacyStream) => void
}

/** Also announces the new owner of the stream and its call, because a new instance may not know the others yet. */
export function announced(owners: Owners, handOff: HandOff): HandOff {
  return async (stream) => {
    const to = await handOff(stream)
    const { name, call } = stream
    if (to !== undefined) owners.change(call === undefined ? [name] : [name, call.call], to)
    return to
  }
}

export class HandOffs {
  readonly #options: HandOffsOptions
  /** Streams that were handed off. */
  readonly #handedOff = new WeakSet<LegacyStream>()
  readonly #underWay = new Set<Promise<void>>()
  #isLeaving = false

  constructor(options: HandOffsOptions) {
    this.#options = options
  }

  /**
   * Hands off the streams with messages that their clients have not come back for: now, and after each later
   * `finished`. Resolves when the known ones are handed off.
   */
  async unseen(): Promise<void> {
    this.#isLeaving = true
    const { streams } = this.#options
    for (const stream of streams.unseen()) {
      if (this.#handedOff.has(stream)) continue
      const handingOff = this.#handOff(stream).finally(() => this.#underWay.delete(handingOff))
      this.#underWay.add(handingOff)
    }
    await Promise.all(this.#underWay)
  }

  /** Called when a call has ended. */
  finished(): void {
    if (this.#isLeaving) void this.unseen()
  }

  /**
   * Takes a stream of a stopping instance, with its call if that has not ended; returns false if this instance is
   * stopping as well.
   */
  async resume(handedOff: StreamHandOff): Promise<boolean> {
    const { streams, pushes, returning, resume } = this.#options
    if (pushes.isDraining) return false
    const { name, caller, call } = handedOff
    if (call !== undefined && pushes.has(call.call)) return true // a duplicate, sent because a reply was late
    if (call === undefined) {
      streams.resume(handedOff)
      returning.noteClaimed(name, caller)
      return true
    }
    const resumed = await pushes.resume(call, name, caller)
    if (resumed === undefined) return true // another instance has resumed it
    const stream = streams.resume(handedOff)
    resume(resumed, caller, stream)
    return true
  }

  async #handOff(stream: LegacyStream): Promise<void> {
    const { streams, handOff } = this.#options
    const caller = streams.callerOf(stream)
    if (caller === undefined) return
    this.#handedOff.add(stream)
    const to = await handOff({ name: stream.name, caller, ...stream.contents() })
    if (to === undefined) this.#handedOff.delete(stream)
  }
}

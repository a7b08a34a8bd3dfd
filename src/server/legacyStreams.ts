/** The session-era streams of this instance, by their sealed names. */
import { ProtocolError } from '../protocol/index.ts'
import { type Sealer, StateError } from '../state/index.ts'
import type { Principal } from './authenticator.ts'
import { newId } from './carrier.ts'
import { LegacyStream } from './legacyStream.ts'
import type { Peer } from './peer.ts'
import type { Sink } from './sink.ts'

export interface Owner {
  readonly peer: Peer
  readonly principal: Principal | undefined
}

const PRIMED_SINCE = '2025-11-25'
const KEPT_AFTER_END_MS = 60_000
const MAX_STREAMS = 10_000

export class LegacyStreams {
  readonly #sealer: Sealer
  readonly #streams = new Map<string, LegacyStream>()

  constructor(sealer: Sealer) {
    this.#sealer = sealer
  }

  begin(owner: Owner): LegacyStream {
    const name = this.#sealer.seal('stream', bindingOf(owner), { id: newId(), body: null })
    return this.#add(name, owner, 0)
  }

  /** The stream of a call that was begun elsewhere; it may already have been resumed here. */
  named(name: string, owner: Owner): LegacyStream {
    return this.#streams.get(name) ?? this.#add(name, owner, 0)
  }

  /** A client comes back: it gets what it missed, or waits here for what is yet to come. */
  resume(lastEventId: string, owner: Owner, sink: Sink): void {
    const { name, number } = this.#read(lastEventId, owner)
    const stream = this.#streams.get(name) ?? this.#add(name, owner, number)
    stream.connect(sink, number)
  }

  /** Keeps what was sent for those who lost the connection near the end. */
  retire(stream: LegacyStream): void {
    setTimeout(() => this.#streams.delete(stream.name), KEPT_AFTER_END_MS).unref()
  }

  drop(stream: LegacyStream): void {
    this.#streams.delete(stream.name)
  }

  #add(name: string, { peer }: Owner, after: number): LegacyStream {
    const stream = new LegacyStream({ name, primes: peer.version >= PRIMED_SINCE, after })
    this.#streams.set(name, stream)
    for (const [oldest, { connected }] of this.#streams) {
      if (this.#streams.size <= MAX_STREAMS) break
      if (!connected) this.#streams.delete(oldest)
    }
    return stream
  }

  #read(eventId: string, owner: Owner): { name: string; number: number } {
    const [name = '', digits = ''] = eventId.split(':')
    const number = /^\d{1,9}$/.test(digits) ? Number(digits) : Number.NaN
    if (!Number.isNaN(number) && this.#isOwn(name, owner)) return { name, number }
    throw new ProtocolError('PARAMS_INVALID', 'Last-Event-ID names no stream of this session.')
  }

  #isOwn(name: string, owner: Owner): boolean {
    try {
      this.#sealer.open('stream', bindingOf(owner), name)
      return true
    } catch (error) {
      if (error instanceof StateError) return false
      throw error
    }
  }
}

function bindingOf({ peer, principal }: Owner) {
  return { principal: principal?.id, session: peer.session }
}

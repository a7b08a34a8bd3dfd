/** The session-era streams of this instance, by their sealed names. */
import { unlessRefused } from '../../../state/internal.ts'
import { ProtocolError, type RequestId, unref } from '../../../protocol/index.ts'
import { Quota } from '../../../state/quota/index.ts'
import type { Sealer } from '../../../state/seal/index.ts'
import { bindingOf, newId } from '../../binding.ts'
import { type Instance, readInstance, type Self, writeInstance } from '../../../cluster/index.ts'
import { ssePriming } from '../../http/sse.ts'
import type { StreamHandOff } from '../push/handOff.ts'
import { eventId, type EventPlace, LegacyStream, readEventId } from './stream.ts'
import type { Caller } from '../../call.ts'
import { quotaCaller } from '../../limits/quotaCaller.ts'

/** Whether a stream answers a call, or carries notifications that belong to no call. */
export type StreamKind = 'call' | 'standalone'

/** The position of the last event that a client has seen. */
export interface StreamPosition extends EventPlace {
  readonly kind: StreamKind
  /** The instance that began the stream. */
  readonly instance: Instance
  /** The request that the stream answers. */
  readonly request: RequestId | undefined
}

const PRIMED_SINCE = '2025-11-25'
const KEPT_WHEN_GONE_MS = 60_000
const MAX_STREAMS = 10_000
const MAX_KEPT_CHARS = 64 * 1024 * 1024

export class LegacyStreams {
  readonly #sealer: Sealer
  readonly #self: Self
  readonly #streams = new Map<string, LegacyStream>()
  readonly #released = new Set<string>()
  readonly #callers = new WeakMap<LegacyStream, Caller>()
  /** Finished streams are evicted first, then running ones; streams with connections may exceed the limit. */
  readonly #quota = new Quota<LegacyStream>({ evict: (stream) => this.#evict(stream) })
  readonly #kept = new Quota<LegacyStream>({ all: { chars: MAX_KEPT_CHARS }, evict: (stream) => stream.forgetKept() })

  constructor(sealer: Sealer, self: Self) {
    this.#sealer = sealer
    this.#self = self
  }

  /** `request`: the request that the stream answers; absent for a stream whose messages belong to no request. */
  begin(caller: Caller, request?: RequestId): LegacyStream {
    const body = [request ?? null, writeInstance(this.#self)]
    const name = this.#sealer.seal('stream', bindingOf(caller), { id: newId(), body })
    return this.#add(name, caller, 0)
  }

  /** The stream of this name, if this instance has it. */
  get(name: string): LegacyStream | undefined {
    return this.#streams.get(name)
  }

  /** The stream that a client reconnects to. If another instance has it, the client waits here for later messages. */
  at({ name, after, owed }: StreamPosition, caller: Caller): LegacyStream {
    return this.#streams.get(name) ?? this.#add(name, caller, after, owed)
  }

  /** The stream of a call that is resumed here. Its client may be connected already, or reconnect later. */
  claim(name: string, caller: Caller, position: number): LegacyStream {
    const stream = this.#streams.get(name) ?? this.#add(name, caller, position)
    stream.continueFrom(position)
    return stream
  }

  /** Resumes a stream of a stopping instance. Without a call it is complete. */
  resume({ name, caller, position, kept, progress, call }: StreamHandOff): LegacyStream {
    const stream = this.#streams.get(name) ?? this.#add(name, caller, 0)
    stream.resume(position, kept)
    stream.progress = progress ?? undefined
    if (call === undefined) {
      stream.finish()
      this.expireSoon(stream)
    } else stream.continueFrom(position)
    return stream
  }

  /** The complete streams whose clients have not seen all messages. */
  unseen(): LegacyStream[] {
    return [...this.#streams.values()].filter((stream) => stream.isUnseen)
  }

  release(stream: LegacyStream): void {
    const { name } = stream
    this.#remove(stream)
    stream.finish()
    stream.forgetKept()
    this.#released.add(name)
    unref(setTimeout(() => this.#released.delete(name), KEPT_WHEN_GONE_MS))
  }

  /** Drops a stream on which no call answers. */
  drop(stream: LegacyStream): void {
    this.#remove(stream)
    stream.forgetKept()
  }

  /** Whether the stream was here and now has another owner. */
  isReleased(name: string): boolean {
    return this.#released.has(name) && !this.#streams.has(name)
  }

  /** Drops the stream after a while, unless its client has reconnected; then calls `forgotten`. */
  expireSoon(stream: LegacyStream, forgotten?: () => void): void {
    const forget = (): void => {
      if (stream.connected) return
      this.#remove(stream)
      stream.forgetKept()
      forgotten?.()
    }
    unref(setTimeout(forget, KEPT_WHEN_GONE_MS))
  }

  /** Reads a Last-Event-ID; throws when it does not belong to this session. */
  positionOf(lastEventId: string, caller: Caller): StreamPosition {
    const place = readEventId(lastEventId)
    const about = place && this.#read(place.name, caller)
    if (place !== undefined && about !== undefined) return { ...about, ...place }
    throw new ProtocolError('PARAMS_INVALID', 'Last-Event-ID is not of a stream of this session.')
  }

  /** The first event of a connection at this position: without an event the official clients forget their position. */
  opening(place: StreamPosition, caller: Caller): string {
    return primesFor(caller) ? ssePriming(eventId(place)) : ''
  }

  callerOf(stream: LegacyStream): Caller | undefined {
    return this.#callers.get(stream)
  }

  #add(name: string, caller: Caller, after: number, owed?: string): LegacyStream {
    const primes = primesFor(caller)
    const quotaName = quotaCaller(caller)
    const stream = new LegacyStream({ name, primes, after, owed, onChange: () => this.#count(stream, quotaName) })
    if (this.#streams.size >= MAX_STREAMS) this.#quota.evict('places', quotaName)
    this.#streams.set(name, stream)
    this.#callers.set(stream, caller)
    this.#quota.put(stream, { caller: quotaName, evictable: 'unless-smaller' })
    return stream
  }

  #remove(stream: LegacyStream): void {
    if (this.#streams.get(stream.name) === stream) this.#streams.delete(stream.name)
    this.#quota.delete(stream)
    this.#kept.delete(stream)
  }

  #evict(stream: LegacyStream): void {
    this.#remove(stream)
    stream.evict()
  }

  #count(stream: LegacyStream, caller: string): void {
    if (this.#streams.get(stream.name) !== stream) return
    const { connected, finished, keptChars: chars } = stream
    this.#quota.setEvictable(stream, connected ? 'never' : finished ? 'always' : 'unless-smaller')
    if (chars > 0) this.#kept.put(stream, { caller, chars })
    else this.#kept.delete(stream)
  }

  #read(name: string, caller: Caller): Pick<StreamPosition, 'kind' | 'instance' | 'request'> | undefined {
    const opened = unlessRefused(() => this.#sealer.open('stream', bindingOf(caller), name))
    if (opened === undefined) return undefined
    const [request, entry] = opened.body as readonly [RequestId | null, unknown]
    const instance = readInstance(entry)
    return instance && { kind: request === null ? 'standalone' : 'call', instance, request: request ?? undefined }
  }
}

/** Whether the client knows events without data. */
function primesFor({ peer }: Caller): boolean {
  return peer.version >= PRIMED_SINCE
}

/** The session-era streams of this instance, by their sealed names. */
import { ProtocolError, type RequestId, unref } from '../../../protocol/index.ts'
import { StateError } from '../../../state/internal.ts'
import type { Sealer } from '../../../state/seal/index.ts'
import { bindingOf, newId } from '../../binding.ts'
import { type Instance, readInstance, type Self, writeInstance } from '../../replicas/instance.ts'
import { ssePriming } from '../../http/sse.ts'
import type { StreamHandOver } from '../push/handOver.ts'
import { eventId, type EventPlace, readEventId } from './eventId.ts'
import { LegacyStream } from './stream.ts'
import type { Caller } from '../../call.ts'
import { holderOf, Holdings } from '../../limits/holders.ts'

/** Whether a stream answers a call, or carries notifications that belong to none. */
export type StreamKind = 'call' | 'standalone'

/** The last event that a client has seen: which stream, which number. */
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
  readonly #holdings = new Holdings<LegacyStream>()
  #keptChars = 0

  constructor(sealer: Sealer, self: Self) {
    this.#sealer = sealer
    this.#self = self
  }

  /** `request` is the one that the stream answers; a stream without one carries what belongs to none. */
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
  at({ name, after, isRevivable }: StreamPosition, caller: Caller): LegacyStream {
    return this.#streams.get(name) ?? this.#add(name, caller, after, isRevivable)
  }

  /** The stream of a call that is revived here. Its client may be connected already, or reconnect later. */
  takeOver(name: string, caller: Caller, position: number): LegacyStream {
    const stream = this.#streams.get(name) ?? this.#add(name, caller, position)
    stream.continueFrom(position)
    return stream
  }

  /** A stream of an instance that stops. Without a call that goes on it is complete. */
  adopt({ name, caller, position, kept, progress, call }: StreamHandOver): LegacyStream {
    const stream = this.#streams.get(name) ?? this.#add(name, caller, 0)
    stream.adopt(position, kept)
    stream.progress = progress ?? undefined
    if (call === undefined) {
      stream.finish()
      this.expireSoon(stream)
    } else stream.continueFrom(position)
    return stream
  }

  /** The complete streams whose clients have not seen all that was sent. */
  unseen(): LegacyStream[] {
    return [...this.#streams.values()].filter((stream) => stream.isUnseen)
  }

  /** Lets go of a stream that goes on elsewhere. */
  release(stream: LegacyStream): void {
    const { name } = stream
    this.#remove(stream)
    stream.finish()
    stream.forgetKept()
    this.#released.add(name)
    unref(setTimeout(() => this.#released.delete(name), KEPT_WHEN_GONE_MS))
  }

  /** Forgets a stream that no call answers on. */
  drop(stream: LegacyStream): void {
    this.#remove(stream)
    stream.forgetKept()
  }

  /** Whether the stream was here and goes on elsewhere. */
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

  /** The first event of a connection at this place: the official clients forget where they were without one. */
  opening(place: StreamPosition, caller: Caller): string {
    return primesFor(caller) ? ssePriming(eventId(place)) : ''
  }

  callerOf(stream: LegacyStream): Caller | undefined {
    return this.#callers.get(stream)
  }

  #add(name: string, caller: Caller, after: number, isRevivable = false): LegacyStream {
    const primes = primesFor(caller)
    const stream = new LegacyStream({ name, primes, after, isRevivable, onKept: (chars) => this.#count(chars) })
    this.#makeRoom()
    this.#streams.set(name, stream)
    this.#callers.set(stream, caller)
    this.#holdings.add(holderOf(caller), stream)
    return stream
  }

  #remove(stream: LegacyStream): void {
    if (this.#streams.get(stream.name) === stream) this.#streams.delete(stream.name)
    const caller = this.#callers.get(stream)
    if (caller !== undefined) this.#holdings.delete(holderOf(caller), stream)
  }

  /**
   * The holder of the most streams loses first: those whose calls have ended, then the oldest without a connection. Of any
   * other holder no running call is given up. Where all streams have connections there may be more: those cost more.
   */
  #makeRoom(): void {
    if (this.#streams.size < MAX_STREAMS) return
    for (const { items, isLargest } of this.#holdings.largestFirst(({ size }) => size)) {
      const oldest = oldestIdle(items, isLargest)
      if (oldest === undefined) continue
      this.#remove(oldest)
      return oldest.evict()
    }
  }

  /**
   * Above the limit the holder of the most drops its messages, its oldest first, down to three quarters of the limit, so
   * that this happens rarely.
   */
  #count(chars: number): void {
    this.#keptChars += chars
    if (chars <= 0 || this.#keptChars <= MAX_KEPT_CHARS) return
    for (const { items } of this.#holdings.largestFirst(keptChars)) {
      for (const oldest of items) {
        if (this.#keptChars <= MAX_KEPT_CHARS * 0.75) return
        oldest.forgetKept()
      }
    }
  }

  #read(name: string, caller: Caller): Pick<StreamPosition, 'kind' | 'instance' | 'request'> | undefined {
    try {
      const { body } = this.#sealer.open('stream', bindingOf(caller), name)
      const [request, entry] = body as readonly [RequestId | null, unknown]
      const instance = readInstance(entry)
      return instance && { kind: request === null ? 'standalone' : 'call', instance, request: request ?? undefined }
    } catch (error) {
      if (error instanceof StateError) return undefined
      throw error
    }
  }
}

/** The oldest stream without a connection whose call has ended; else, where it may run, the oldest of all. */
function oldestIdle(streams: ReadonlySet<LegacyStream>, mayRun: boolean): LegacyStream | undefined {
  let oldest: LegacyStream | undefined
  for (const stream of streams) {
    if (stream.connected) continue
    if (stream.finished) return stream
    oldest ??= mayRun ? stream : undefined
  }
  return oldest
}

function keptChars(streams: ReadonlySet<LegacyStream>): number {
  let sum = 0
  for (const stream of streams) sum += stream.keptChars
  return sum
}

/** Whether the client knows events without data. */
function primesFor({ peer }: Caller): boolean {
  return peer.version >= PRIMED_SINCE
}

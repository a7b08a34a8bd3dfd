/**
 * Clients that lost the connection of a stream and come back with the id of the last event they saw, to any instance.
 *
 * - A stream that is here goes on here; one of another instance is fetched from there.
 * - When the instance that had it is gone, and the client owes an answer from which the call can go on elsewhere, it waits
 *   here until the call does. Else it is told soon that the call is lost.
 */
import { CODES, MAX_TIMER_MS, type RequestId, unref } from '../../../protocol/index.ts'
import { ExpiringMap } from '../../../state/stores/index.ts'
import type { Caller } from '../../call.ts'
import type { LOST_CODES } from '../../errors.ts'
import type { HttpReply, Sink } from '../../http/exchange.ts'
import { SSE_HEADERS, sseEventWithId } from '../../http/sse.ts'
import type { EventBus } from '../../lifecycle/eventBus.ts'
import { holderOf } from '../../limits/holders.ts'
import type { Logger } from '../../logger.ts'
import { type ClientRequest, type Forwarded, type Forwarder, movedReply } from '../../replicas/forwarder.ts'
import { type Instance, readInstance, type Self, writeInstance } from '../../replicas/instance.ts'
import { errorMessage } from '../../results.ts'
import type { GetStreams } from './getStreams.ts'
import type { PushBroker } from '../push/broker.ts'
import type { PushState } from '../push/state.ts'
import { Participants, type ParticipantsOptions } from './participants.ts'
import type { LegacyStreams, StreamPosition } from './streams.ts'

/** The official clients come back again and again to a stream that ended without a result; this makes them stop. */
export const NO_STREAM: HttpReply = { status: 405, headers: { allow: 'POST' } }

/** To another instance: the stream was here, and whoever gets its client's answer goes on with it. */
const RELEASED: HttpReply = { status: 410 }
/** How long an instance looks for one that goes on with a call, before it tells the client that the call is lost. */
export const FOUND_WITHIN_MS = 3000
export const ASK_EVERY_MS = 200
/** How often all instances must say that they do not have a call before it is lost: one may have been met just now. */
const DENIALS = 8
// One instance after the other may have stopped while a call waited.
const MAX_MOVES = 8

// The number of the event that says so; no stream gets that far. A client that comes back after it has nothing to wait for.
const LOST_EVENT = 999_999_999

type LostCode = (typeof LOST_CODES)[number]

const LOST: Readonly<Record<LostCode, string>> = {
  CALL_UNREACHABLE:
    'The instance that ran this call cannot be reached from here, and neither can its result. The call may have effects; look before you repeat it.',
  CALL_LOST:
    'The instance that ran this call is gone, and the call with it. It may have had effects; look before you repeat it.',
}

export interface StreamResumptionOptions extends ParticipantsOptions {
  readonly streams: LegacyStreams
  readonly getStreams: GetStreams
  readonly pushes: PushBroker
  readonly forwarder: Forwarder
  readonly bus: EventBus
  readonly self: Self
  /** The instance that goes on with the stream of one that is gone, as far as the others can tell. */
  readonly whoHas: (stream: string) => Promise<Instance | 'nobody' | 'unsure'>
  readonly ttlSeconds: number
  readonly clock: () => number
  readonly logger: () => Logger
}

interface WaitingClient {
  readonly request: ClientRequest
  /** Gives up for the client. */
  readonly timer: ReturnType<typeof setTimeout>
}

export class StreamResumption {
  readonly #options: StreamResumptionOptions
  readonly #participants: Participants
  /** Clients that wait here for a stream that no instance has yet, by its name. */
  readonly #waiting = new Map<string, WaitingClient>()
  /** The streams of other instances that this one goes on with. */
  readonly #takenOver = new Set<string>()
  /** Where the streams are that went from one instance to another. */
  readonly #moved: ExpiringMap<Instance>

  constructor(options: StreamResumptionOptions) {
    this.#options = options
    this.#participants = new Participants(options)
    this.#moved = new ExpiringMap(options.clock)
    options.bus.subscribe((event) => {
      if (event.kind === 'stream-wanted' && this.has(event.stream)) this.#announce(event.stream)
      if (event.kind === 'stream-moved') void this.#follow(event.stream, event.to)
    })
  }

  async resume(
    lastEventId: string,
    caller: Caller,
    request: ClientRequest,
    sink: Sink,
  ): Promise<HttpReply | undefined> {
    const { streams, forwarder, self, pushes, ttlSeconds } = this.#options
    const place = streams.positionOf(lastEventId, caller)
    if (place.after === LOST_EVENT) return NO_STREAM
    let instance: Instance | undefined = this.#moved.get(place.name) ?? place.instance
    const isOwn = instance.id === self.id
    // A stream that a client waits for is here in name only.
    const isHere =
      streams.get(place.name) === undefined ? isOwn && !streams.isReleased(place.name) : !this.#waiting.has(place.name)
    if (isOwn) instance = undefined
    if (isHere) return this.#connect(place, caller, sink)
    for (let hops = 0; hops < MAX_MOVES && instance?.url !== undefined; hops++) {
      const forwarded: Forwarded = await forwarder.forward(instance, request, sink, streams.opening(place, caller))
      if (forwarded.kind === 'replied' && forwarded.reply?.status !== RELEASED.status) return forwarded.reply
      instance = forwarded.kind === 'moved' ? forwarded.to : undefined
    }
    if (place.kind === 'standalone') return this.#connect(place, caller, sink)
    const mayRevive = place.isRevivable && pushes.mayRevive(place.instance, caller)
    this.#wait(place, caller, request, sink, mayRevive ? ttlSeconds * 1000 : FOUND_WITHIN_MS)
    if (!mayRevive) void this.#search(place, request)
    return undefined
  }

  /** A client that came to another instance, for a stream of this one. */
  resumeHere(lastEventId: string, caller: Caller, sink: Sink): HttpReply | undefined {
    const { streams } = this.#options
    const place = streams.positionOf(lastEventId, caller)
    const moved = streams.get(place.name) === undefined ? this.#moved.get(place.name) : undefined
    if (moved !== undefined) return movedReply(moved)
    return streams.isReleased(place.name) ? RELEASED : this.#connect(place, caller, sink)
  }

  /** Another instance goes on with the stream. */
  noteMoved(stream: string, to: Instance): void {
    const { clock, ttlSeconds } = this.#options
    this.#moved.set(stream, to, clock() + ttlSeconds * 1000)
  }

  /** This instance goes on with a stream of another one. */
  tookOver(stream: string, caller: Caller): void {
    this.#takenOver.add(stream)
    this.#stopWaiting(stream)
    this.#announce(stream)
    void this.#participants.join(stream, holderOf(caller)).then(() => this.#announce(stream))
    unref(setTimeout(() => this.#takenOver.delete(stream), Math.min(this.#options.ttlSeconds * 1000, MAX_TIMER_MS)))
  }

  /** Nobody goes on with the call of this stream: its client is told, wherever it waits, unless the result is here. */
  end({ stream: name, position, request }: PushState, caller: Caller): void {
    const { streams } = this.#options
    const stream = streams.takeOver(name, caller, position)
    stream.finish(lostMessage(request.id))
    streams.expireSoon(stream)
    this.tookOver(name, caller)
  }

  /** Whether this instance goes on with a stream of another one. */
  has(stream: string): boolean {
    return this.#takenOver.has(stream)
  }

  #announce(stream: string): void {
    this.#options.bus.publish({ kind: 'stream-moved', stream, to: writeInstance(this.#options.self) })
  }

  #connect(place: StreamPosition, caller: Caller, sink: Sink): HttpReply | undefined {
    const { streams, getStreams } = this.#options
    if (place.kind === 'standalone') {
      getStreams.resume(place, caller, sink)
      return undefined
    }
    const stream = streams.get(place.name)
    if (stream === undefined) return this.#tellLost(place, sink)
    if (stream.isOver(place.after)) return NO_STREAM
    stream.connect(sink, place.after)
    return undefined
  }

  /** Until an instance goes on with the call, which may be this one. */
  #wait(place: StreamPosition, caller: Caller, request: ClientRequest, sink: Sink, forMs: number): void {
    const { streams } = this.#options
    const { name, after } = place
    this.#stopWaiting(name)
    const stream = streams.at(place, caller)
    stream.connect(sink, after)
    const timer = unref(setTimeout(() => this.#giveUp(place), Math.min(forMs, MAX_TIMER_MS)))
    this.#waiting.set(name, { request, timer })
    sink.onDisconnect(() => {
      if (this.#waiting.get(name)?.request !== request) return
      this.#stopWaiting(name)
      streams.drop(stream) // or the client would come back to a stream that nobody sends on
    })
    this.#askFor(name, request, FOUND_WITHIN_MS)
    void this.#participants.join(name, holderOf(caller))
  }

  #stopWaiting(name: string): ClientRequest | undefined {
    const waiting = this.#waiting.get(name)
    clearTimeout(waiting?.timer)
    this.#waiting.delete(name)
    return waiting?.request
  }

  /** Again and again for a while: an instance that has just started may not have met the others yet. */
  #askFor(stream: string, request: ClientRequest, leftMs: number): void {
    if (this.#waiting.get(stream)?.request !== request || leftMs <= 0) return
    this.#options.bus.publish({ kind: 'stream-wanted', stream })
    unref(setTimeout(() => this.#askFor(stream, request, leftMs - ASK_EVERY_MS), ASK_EVERY_MS))
  }

  /** Tells the client sooner than when its time is over, where all others say that they do not have the call. */
  async #search(place: StreamPosition, request: ClientRequest): Promise<void> {
    const { name } = place
    for (let denials = 0; ; ) {
      const found = await this.#options.whoHas(name)
      if (this.#waiting.get(name)?.request !== request) return
      if (typeof found === 'object') return this.#follow(name, writeInstance(found))
      if (found === 'nobody' && ++denials === DENIALS) break
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS))
    }
    if (this.#waiting.get(name)?.request === request) this.#giveUp(place)
  }

  /** Another instance goes on with the call: what it sends goes to the client that waits here. */
  async #follow(name: string, to: unknown): Promise<void> {
    const { streams, forwarder, self } = this.#options
    const instance = readInstance(to)
    if (instance === undefined || instance.id === self.id) return
    this.noteMoved(name, instance)
    const request = this.#stopWaiting(name)
    const stream = streams.get(name)
    if (request === undefined || stream === undefined) return
    const sink = stream.detach()
    streams.release(stream)
    if (sink !== undefined && !(await forwarder.join(instance, request, sink))) sink.end()
  }

  #giveUp(place: StreamPosition): void {
    const { streams } = this.#options
    const stream = this.#stopWaiting(place.name) && streams.get(place.name)
    if (stream === undefined) return
    const sink = stream.detach()
    streams.release(stream)
    if (sink !== undefined) this.#tellLost(place, sink)
  }

  #tellLost(place: StreamPosition, sink: Sink): undefined {
    const { name, request, instance } = place
    const why = instance.url === undefined ? 'CALL_UNREACHABLE' : 'CALL_LOST'
    sink.open(SSE_HEADERS)
    sink.write(sseEventWithId(`${name}:${LOST_EVENT}`, lostMessage(request, why)))
    sink.end()
  }
}

function lostMessage(request: RequestId | undefined, why: LostCode = 'CALL_LOST'): string {
  return errorMessage(request, { code: CODES.INTERNAL_ERROR, message: LOST[why], data: { code: why }, status: 200 })
}

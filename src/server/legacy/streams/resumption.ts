/**
 * Resumes streams: clients that lost the connection come back, to any instance, with the id of the last event they saw.
 *
 * - A stream of this instance continues here; a stream of another instance is fetched from there.
 * - When its instance is gone, the client waits here briefly for another one to resume the call: an answer may be on
 *   its way there.
 * - If no instance does, and the client still has to answer, its answer may be lost with the instance. If the store has
 *   the call, the call is resumed here and asks again. If the client has the state, the stream waits until the client
 *   answers or repeats its answer.
 * - Otherwise the call is lost, and the client gets an error.
 */
import { type Instance, movedReply, type Owners, type Self } from '../../../cluster/index.ts'
import { CODES, MAX_TIMER_MS, type RequestId, unref } from '../../../protocol/index.ts'
import type { Caller } from '../../call.ts'
import type { LOST_CODES } from '../../errors.ts'
import type { HttpReply, Sink } from '../../http/exchange.ts'
import { SSE_HEADERS, sseEventWithId } from '../../http/sse.ts'
import type { EventBus } from '../../lifecycle/eventBus.ts'
import { quotaCaller } from '../../limits/quotaCaller.ts'
import { errorDetails, type Logger } from '../../logger.ts'
import type { ClientRequest, ClientRequests, ForwardedRequest } from '../../forwarding/clientRequests.ts'
import { errorMessage } from '../../results.ts'
import type { GetStreams } from './getStreams.ts'
import type { PushBroker } from '../push/broker.ts'
import type { StreamHandOff } from '../push/handOff.ts'
import type { PushState } from '../push/state.ts'
import { Participants, type ParticipantsOptions } from './participants.ts'
import type { LegacyStreams, StreamPosition } from './streams.ts'

/** The official clients reconnect without end to a stream that ended without a result; this status stops them. */
export const NO_STREAM: HttpReply = { status: 405, headers: { allow: 'POST' } }

/** The reply to another instance for a released stream, which the instance with its client's answer resumes. */
const RELEASED: HttpReply = { status: 410 }
// Several instances in a row may have stopped while a call waited.
const MAX_MOVES = 8

// The number of the event with the error of a lost call; no stream gets that far. A client that comes back after it has
// nothing to wait for.
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
  readonly forwarder: ClientRequests
  readonly bus: EventBus
  readonly owners: Owners
  readonly self: Self
  /** Resumes a call of another instance, unless a third one has. */
  readonly resumeCall: (stream: StreamHandOff) => Promise<unknown>
  readonly ttlSeconds: number
  readonly clock: () => number
  readonly logger: () => Logger
}

interface WaitingClient {
  readonly request: ClientRequest
  /** Ends the wait for the client's answer. */
  timer: ReturnType<typeof setTimeout> | undefined
}

export class StreamResumption {
  readonly #options: StreamResumptionOptions
  readonly #participants: Participants
  /** Clients that wait here for a stream that no instance has yet, by its name. */
  readonly #waiting = new Map<string, WaitingClient>()

  constructor(options: StreamResumptionOptions) {
    const { owners, streams } = options
    this.#options = options
    this.#participants = new Participants(options)
    owners.add({
      has: (stream) => streams.get(stream) !== undefined && !this.#waiting.has(stream),
      moved: (stream, owner) => void this.#follow(stream, owner),
    })
  }

  async resume(
    lastEventId: string,
    caller: Caller,
    request: ClientRequest,
    sink: Sink,
  ): Promise<HttpReply | undefined> {
    const { streams, forwarder, owners, self } = this.#options
    const place = streams.positionOf(lastEventId, caller)
    if (place.after === LOST_EVENT) return NO_STREAM
    let instance: Instance | undefined = owners.ownerOf(place.name, place.instance)
    const isOwn = instance.id === self.id
    // A client may wait here for a stream that another instance has.
    const isHere =
      streams.get(place.name) === undefined ? isOwn && !streams.isReleased(place.name) : !this.#waiting.has(place.name)
    if (isOwn) instance = undefined
    if (isHere) return this.#connect(place, caller, sink)
    const gone = new Set(request.gone)
    for (let hops = 0; hops < MAX_MOVES && instance?.url !== undefined; hops++) {
      const forwarded: ForwardedRequest = await forwarder.forward(
        instance,
        request,
        sink,
        streams.opening(place, caller),
      )
      if (forwarded.kind === 'replied' && forwarded.reply?.status !== RELEASED.status) return forwarded.reply
      gone.add(instance.id)
      instance = forwarded.kind === 'moved' ? forwarded.to : undefined
    }
    if (place.kind === 'standalone') return this.#connect(place, caller, sink)
    this.#wait(place, caller, { ...request, gone }, sink)
    return undefined
  }

  /** Connects a client that reached another instance to a stream of this one. */
  resumeHere(lastEventId: string, caller: Caller, sink: Sink): HttpReply | undefined {
    const { streams, owners } = this.#options
    const place = streams.positionOf(lastEventId, caller)
    const owner = streams.get(place.name) === undefined ? owners.get(place.name) : undefined
    if (owner !== undefined && !owners.isOwn(place.name)) return movedReply(owner)
    return streams.isReleased(place.name) ? RELEASED : this.#connect(place, caller, sink)
  }

  /** Records that this instance has resumed a stream of another one, and its call. */
  noteClaimed(stream: string, caller: Caller, call?: string): void {
    const { owners, self } = this.#options
    const announce = (): void => owners.change(call === undefined ? [stream] : [stream, call], self)
    this.#stopWaiting(stream)
    announce()
    void this.#participants.join(stream, quotaCaller(caller)).then((hasMet) => {
      if (hasMet && owners.isOwn(stream)) announce() // unless this instance has handed it off meanwhile
    })
  }

  /**
   * Ends the stream of a call that no instance resumes: its client gets an error, wherever it waits, unless the result
   * is here.
   */
  end({ stream: name, position, request }: PushState, caller: Caller): void {
    const { streams } = this.#options
    const stream = streams.claim(name, caller, position)
    stream.finish(lostMessage(request.id))
    streams.expireSoon(stream)
    this.noteClaimed(name, caller)
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

  /** Waits until an instance, perhaps this one, resumes the call. */
  #wait(place: StreamPosition, caller: Caller, request: ClientRequest, sink: Sink): void {
    const { streams, owners } = this.#options
    const { name, after } = place
    if (sink.disconnected) return // the client may already wait on another connection
    this.#stopWaiting(name)
    const stream = streams.at(place, caller)
    stream.connect(sink, after)
    const waiting: WaitingClient = { request, timer: undefined }
    this.#waiting.set(name, waiting)
    sink.onDisconnect(() => {
      if (this.#waiting.get(name) !== waiting) return
      this.#stopWaiting(name)
      streams.drop(stream) // otherwise the client would come back to a stream without a sender
    })
    const isOver = (): boolean => this.#waiting.get(name) !== waiting
    void owners.seek(name, isOver).then(async (isFound) => {
      if (!isFound) await this.#decide(place, caller, waiting)
    })
    void this.#participants.join(name, quotaCaller(caller))
  }

  #stopWaiting(name: string): ClientRequest | undefined {
    const waiting = this.#waiting.get(name)
    clearTimeout(waiting?.timer)
    this.#waiting.delete(name)
    return waiting?.request
  }

  /**
   * Called when no instance has announced that it has resumed the call: resumes it from the store, if that has it. If
   * another instance has claimed it, the client is connected to that one. Otherwise the client gets an error, unless its
   * answer may still resume the call.
   */
  async #decide(place: StreamPosition, caller: Caller, waiting: WaitingClient): Promise<void> {
    await this.#resumeStored(place, caller)
    if (this.#waiting.get(place.name) !== waiting) return
    const owner = this.#options.owners.get(place.name)
    if (owner !== undefined && !waiting.request.gone.has(owner.id)) return this.#follow(place.name, owner)
    if (!this.#mayAnswer(place, caller)) return this.#giveUp(place, caller)
    const ttlMs = Math.min(this.#options.ttlSeconds * 1000, MAX_TIMER_MS)
    waiting.timer = unref(setTimeout(() => this.#giveUp(place, caller), ttlMs))
  }

  /** Resumes the stored call, and repeats its question. */
  async #resumeStored({ name, after, owed, instance }: StreamPosition, caller: Caller): Promise<void> {
    const { pushes, resumeCall, logger } = this.#options
    try {
      const call = owed === undefined ? undefined : await pushes.stored(owed, name, instance, caller)
      if (call !== undefined) await resumeCall({ name, caller, position: after, kept: [], progress: null, call })
    } catch (error) {
      logger().warn(
        { err: errorDetails(error) },
        'The call of a client that came back could not be read from the store.',
      )
    }
  }

  /** Whether an answer of the client could resume the call. A stopping instance leaves that to others. */
  #mayAnswer({ owed, instance }: StreamPosition, caller: Caller): boolean {
    const { pushes } = this.#options
    return owed !== undefined && (pushes.isDraining || pushes.mayAnswerAgain(instance, caller))
  }

  /** Connects the client that waits here to the instance that has resumed its call. */
  async #follow(name: string, instance: Instance): Promise<void> {
    const { streams, forwarder } = this.#options
    const request = this.#stopWaiting(name)
    const stream = streams.get(name)
    if (request === undefined || stream === undefined) return
    const sink = stream.detach()
    streams.release(stream)
    if (sink !== undefined && !(await forwarder.join(instance, request, sink))) sink.end()
  }

  /** Sends the error of a lost call, and cancels the call, because its instance may only be silent. */
  #giveUp(place: StreamPosition, { peer: { session } }: Caller): void {
    const { streams, bus } = this.#options
    const stream = this.#stopWaiting(place.name) && streams.get(place.name)
    if (stream === undefined) return
    const { request } = place
    if (session !== undefined && request !== undefined) bus.publish({ kind: 'cancelled', session, request })
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

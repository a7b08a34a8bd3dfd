/**
 * Clients that lost the connection of a stream and come back with the id of the last event they saw, to any instance.
 *
 * - A stream that is here goes on here; one of another instance is fetched from there.
 * - When the instance that had it is gone, and the call can go on elsewhere, the client waits here until it does.
 *   Else it is told at once that the call is lost.
 */
import { CODES, unref } from '../../protocol/index.ts'
import type { Caller } from '../call.ts'
import type { HttpReply, Sink } from '../http/exchange.ts'
import { SSE_HEADERS, sseEventWithId } from '../http/sse.ts'
import type { EventBus } from '../lifecycle/eventBus.ts'
import type { Logger } from '../logger.ts'
import type { ClientRequest, Forwarder } from '../replicas/forwarder.ts'
import { readInstance, type Self, writeInstance } from '../replicas/instance.ts'
import type { Peers } from '../replicas/peers.ts'
import { errorMessage } from '../results.ts'
import type { GetStreams } from './getStreams.ts'
import type { PushBroker } from './push.ts'
import type { LegacyStreams, StreamPosition } from './streams.ts'

/** The official clients come back again and again to a stream that ended without a result; this makes them stop. */
export const NO_STREAM: HttpReply = { status: 405, headers: { allow: 'POST' } }

/** To another instance: the stream was here and goes on elsewhere. */
const MOVED: HttpReply = { status: 410 }

const CALL_LOST =
  'The instance that ran this call is gone, and the call with it. It may have had effects; look before you repeat it.'

export interface ReturningClientsOptions {
  readonly streams: LegacyStreams
  readonly getStreams: GetStreams
  readonly pushes: PushBroker
  readonly forwarder: Forwarder
  readonly peers: Peers
  readonly bus: EventBus
  readonly self: Self
  readonly ttlSeconds: number
  readonly logger: () => Logger
}

export class ReturningClients {
  readonly #options: ReturningClientsOptions
  /** Clients that wait here for a stream that no instance has yet, by its name. */
  readonly #waiting = new Map<string, ClientRequest>()
  /** The streams of other instances that this one goes on with. */
  readonly #takenOver = new Set<string>()

  constructor(options: ReturningClientsOptions) {
    this.#options = options
    const { bus } = options
    bus.subscribe((event) => {
      if (event.kind === 'stream-wanted' && this.#takenOver.has(event.stream)) this.#announce(event.stream)
      if (event.kind === 'stream-moved') void this.#follow(event.stream, event.to)
    })
  }

  async resume(
    lastEventId: string,
    caller: Caller,
    request: ClientRequest,
    sink: Sink,
  ): Promise<HttpReply | undefined> {
    const { streams, forwarder, peers, self, pushes } = this.#options
    const place = streams.positionOf(lastEventId, caller)
    const isHere = place.instance.id === self.id || streams.get(place.name) !== undefined
    if (isHere) return this.#connect(place, caller, sink)
    if (place.instance.url !== undefined) {
      const forwarded = await forwarder.forward(place.instance, request, sink)
      if (forwarded.kind === 'replied' && forwarded.reply?.status !== MOVED.status) return forwarded.reply
      if (forwarded.kind === 'gone') peers.lose(place.instance)
    }
    if (place.kind === 'standalone') return this.#connect(place, caller, sink)
    if (!pushes.carries(caller)) return this.#tellLost(place, sink)
    return this.#wait(place, caller, request, sink)
  }

  /** A client that came to another instance, for a stream of this one. */
  resumeHere(lastEventId: string, caller: Caller, sink: Sink): HttpReply | undefined {
    const { streams } = this.#options
    const place = streams.positionOf(lastEventId, caller)
    return streams.isReleased(place.name) ? MOVED : this.#connect(place, caller, sink)
  }

  /** This instance goes on with a stream of another one. */
  tookOver(stream: string): void {
    this.#takenOver.add(stream)
    this.#waiting.delete(stream)
    this.#announce(stream)
    unref(setTimeout(() => this.#takenOver.delete(stream), this.#options.ttlSeconds * 1000))
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
  #wait(place: StreamPosition, caller: Caller, request: ClientRequest, sink: Sink): undefined {
    const { streams, bus, ttlSeconds } = this.#options
    const { name, after } = place
    const stream = streams.at(place, caller)
    stream.connect(sink, after)
    this.#waiting.set(name, request)
    const timer = unref(setTimeout(() => this.#giveUp(place), ttlSeconds * 1000))
    sink.onDisconnect(() => {
      clearTimeout(timer)
      if (this.#waiting.get(name) === request) this.#waiting.delete(name)
    })
    bus.publish({ kind: 'stream-wanted', stream: name })
  }

  /** Another instance goes on with the call: what it sends goes to the client that waits here. */
  async #follow(name: string, to: unknown): Promise<void> {
    const { streams, forwarder, self } = this.#options
    const request = this.#waiting.get(name)
    const instance = readInstance(to)
    if (request === undefined || instance === undefined || instance.id === self.id) return
    this.#waiting.delete(name)
    const stream = streams.get(name)
    const sink = stream?.detach()
    if (stream === undefined || sink === undefined) return
    streams.release(stream)
    if (!(await forwarder.join(instance, request, sink))) sink.end()
  }

  #giveUp(place: StreamPosition): void {
    const { streams } = this.#options
    const stream = this.#waiting.delete(place.name) ? streams.get(place.name) : undefined
    if (stream === undefined) return
    stream.finish(lostMessage(place))
    streams.release(stream)
  }

  #tellLost(place: StreamPosition, sink: Sink): undefined {
    sink.open(SSE_HEADERS)
    sink.write(sseEventWithId(`${place.name}:${place.after + 1}`, lostMessage(place)))
    sink.end()
  }
}

function lostMessage({ request }: StreamPosition): string {
  return errorMessage(request, { code: CODES.INTERNAL_ERROR, message: CALL_LOST, status: 200 })
}

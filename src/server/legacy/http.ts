/**
 * Streamable HTTP of the session revisions: sessions by sealed id, resumable streams, pushed questions, GET and DELETE.
 */
import type { Instance, Members, ClusterScope, Owners, Self } from '../../cluster/index.ts'
import {
  assertPresentAgree,
  type HeaderReader,
  isId,
  type Message,
  metaOf,
  type RequestMessage,
  readMessage,
} from '../../protocol/index.ts'
import type { Ledger } from '../../state/stores/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Call, CallHandler, Caller } from '../call.ts'
import type { HttpReply, Sink } from '../http/exchange.ts'
import type { SessionHandler } from '../http/messageHandler.ts'
import { refusal } from '../http/refusal.ts'
import type { EventBus } from '../lifecycle/eventBus.ts'
import { CallerRate } from '../limits/callerRate.ts'
import { quotaCaller } from '../limits/quotaCaller.ts'
import { errorDetails, type Logger } from '../logger.ts'
import { errorMessage } from '../results.ts'
import { type ClientRequest, type ClientRequests, readRequest } from '../forwarding/clientRequests.ts'
import { toWireError } from '../wireErrors.ts'
import { AnswerForwarder } from './push/answerForwarder.ts'
import { answerBatch, assertBatch } from './batch.ts'
import { SessionCallers, type SessionCallersOptions } from './callers.ts'
import { LegacyChannel } from './channel.ts'
import type { GetStreams } from './streams/getStreams.ts'
import { LiveCalls } from './liveCalls.ts'
import { NO_STREAM, StreamResumption } from './streams/resumption.ts'
import type { ResumedCall, StreamHandOff } from './push/handOff.ts'
import { HandOffs } from './push/handOffs.ts'
import type { PushBroker } from './push/broker.ts'
import type { LegacyStream } from './streams/stream.ts'
import { legacyPeer } from './session.ts'
import type { SessionFacts } from './sessionFacts.ts'
import type { LegacyStreams } from './streams/streams.ts'

export interface LegacyHttpOptions extends SessionCallersOptions {
  readonly calls: CallHandler
  readonly facts: SessionFacts
  readonly bus: EventBus
  readonly streams: LegacyStreams
  readonly getStreams: GetStreams
  /** Whether clients may open a GET stream. */
  readonly hasGetStream: boolean
  /** Shared by all instances, if one is configured. */
  readonly ledger: Ledger | undefined
  readonly pushes: PushBroker
  readonly self: Self
  readonly members: Members
  readonly owners: Owners
  readonly forwarder: ClientRequests
  /** Maximum time that a client waits for a call to resume, in seconds. */
  readonly ttlSeconds: number
  readonly clock: () => number
  /** Hands a stream off; returns its new owner, or undefined if no instance takes it. */
  readonly handOff: (stream: StreamHandOff) => Promise<Instance | undefined>
  readonly logger: () => Logger
}

const NONE: ReadonlySet<string> = new Set()

export class LegacyHttp implements SessionHandler {
  readonly #options: LegacyHttpOptions
  readonly #live: LiveCalls
  /** Rate limit of cancellations that go to all instances, because the instance of the request is unknown. */
  readonly #cancellations: CallerRate
  readonly #answers: AnswerForwarder
  readonly #returning: StreamResumption
  readonly #handOffs: HandOffs
  readonly #callers: SessionCallers

  constructor(options: LegacyHttpOptions) {
    this.#options = options
    this.#live = new LiveCalls(options.clock)
    this.#callers = new SessionCallers(options)
    this.#cancellations = new CallerRate(100, options.clock)
    this.#answers = new AnswerForwarder({
      ...options,
      resume: (call, caller, position) =>
        this.#resume(call, caller, options.streams.claim(call.stream, caller, position)),
      end: (state, caller) => this.#returning.end(state, caller),
    })
    this.#returning = new StreamResumption({ ...options, resumeCall: (stream) => this.#handOffs.resume(stream) })
    this.#handOffs = new HandOffs({
      ...options,
      returning: this.#returning,
      resume: (...args) => this.#resume(...args),
    })
    options.bus.subscribe((event) => {
      if (event.kind === 'session-ended') this.#live.cancelAll(event.session)
      if (event.kind === 'cancelled') this.#live.cancelSoon(event.session, event.request)
    })
  }

  async post(
    message: Message,
    header: HeaderReader,
    principal: Principal | undefined,
    sink: Sink,
  ): Promise<HttpReply | undefined> {
    if (message.kind === 'request') assertPresentAgree(message, header)
    if (message.kind === 'request' && message.method === 'initialize') {
      return this.#initialize(message, header, principal, sink)
    }
    const caller = this.#callers.of(header, principal, sink)
    if ('status' in caller) return caller
    switch (message.kind) {
      case 'request':
        return this.#request(message, header, caller, sink)
      case 'response':
        return this.#answers.take(message, caller, { method: 'POST', header, principal, gone: NONE }, sink)
      case 'notification':
        if (message.method === 'notifications/cancelled') this.#cancel(caller, message.params['requestId'])
        return { status: 202 }
      default:
        return message satisfies never
    }
  }

  async batch(
    values: readonly unknown[],
    header: HeaderReader,
    principal: Principal | undefined,
    sink: Sink,
  ): Promise<HttpReply | undefined> {
    const caller = this.#callers.of(header, principal)
    if ('status' in caller) return caller
    assertBatch(values, caller.peer.version)
    return answerBatch(values, sink, (message, part) => this.post(message, header, principal, part))
  }

  /** Resumes a stream after Last-Event-ID, or opens the stream for notifications that belong to no request. */
  async get(header: HeaderReader, principal: Principal | undefined, sink: Sink): Promise<HttpReply | undefined> {
    if (!/text\/event-stream/i.test(header('accept') ?? '')) return refusal(406, 'Accept text/event-stream.')
    const caller = this.#callers.of(header, principal, sink)
    if ('status' in caller) return caller
    const lastEventId = header('last-event-id')
    if (lastEventId !== undefined && lastEventId !== '')
      return this.#returning.resume(lastEventId, caller, { method: 'GET', header, principal, gone: NONE }, sink)
    if (caller.peer.session === undefined || !this.#options.hasGetStream) return NO_STREAM
    this.#options.getStreams.open(caller, sink)
    return undefined
  }

  delete(header: HeaderReader, principal: Principal | undefined): HttpReply {
    const session = this.#callers.sessionOf(header, principal)
    if (session === undefined) return refusal(400, 'Name the session to end in the Mcp-Session-Id header.')
    if ('status' in session) return session
    this.#options.facts.end(session.id, session.expiresAt)
    return { status: 204 }
  }

  /** Registers the handlers for requests forwarded and things handed off by other instances in this scope. */
  serveIn(scope: ClusterScope): void {
    scope.handle('request', (message, _, sink) => this.#serveForwarded(readRequest(message), sink))
    scope.handleHandOff((thing) => this.#handOffs.resume(thing as unknown as StreamHandOff))
  }

  /** Serves a forwarded request: an answer to a question of this instance, or a client that reconnects to a stream. */
  async #serveForwarded(request: ClientRequest, sink: Sink): Promise<HttpReply | undefined> {
    const { method, header, principal } = request
    const caller = this.#callers.of(header, principal)
    if ('status' in caller) return caller
    if (method === 'GET') return this.#returning.resumeHere(header('last-event-id') ?? '', caller, sink)
    const message = readMessage(request.body)
    if (message.kind === 'response') return this.#answers.take(message, caller, request, undefined)
    return refusal(400, 'Only answers are forwarded.')
  }

  /** Resolves when no call of a session runs here. */
  idle(): Promise<void> {
    return this.#live.idle()
  }

  /** Hands off the streams whose clients have not come back yet. The last step before the process ends. */
  handOffUnseen(): Promise<void> {
    return this.#handOffs.unseen()
  }

  /** Cancels a request, which may run at any instance. */
  #cancel(caller: Caller, request: unknown): void {
    const { session } = caller.peer
    if (session === undefined || !isId(request) || this.#live.cancel(session, request)) return
    if (this.#cancellations.take(quotaCaller(caller)))
      this.#options.bus.publish({ kind: 'cancelled', session, request })
  }

  async #initialize(
    message: RequestMessage,
    header: HeaderReader,
    principal: Principal | undefined,
    sink: Sink,
  ): Promise<HttpReply | undefined> {
    const handshake = this.#options.sessions.handshake(message.params)
    const reply = await this.#request(message, header, { peer: legacyPeer(handshake), principal }, sink)
    if (reply === undefined || reply.status !== 200) return reply
    return {
      ...reply,
      headers: { 'mcp-session-id': this.#options.sessions.begin(handshake, principal) },
    }
  }

  async #request(
    message: RequestMessage,
    header: HeaderReader,
    caller: Caller,
    sink: Sink,
  ): Promise<HttpReply | undefined> {
    const { streams, pushes } = this.#options
    const channel = new LegacyChannel({ streams, pushes, caller, target: sink })
    const answer = await this.#answer(message, caller, channel, { header })
    return this.#finish(channel, answer.body) ? undefined : answer
  }

  async #answer(
    message: Pick<ResumedCall, 'id' | 'method' | 'params'>,
    caller: Caller,
    channel: LegacyChannel,
    from: Pick<Call, 'header' | 'resumed'>,
  ) {
    const { id, method, params } = message
    const call = channel.serve({ id, method, params, meta: metaOf(params), ...caller, channel, ...from })
    const leave = this.#live.enter(caller.peer.session, id, channel)
    if (from.resumed !== undefined && this.#live.wasCancelled(caller.peer.session, id)) channel.cancel()
    try {
      return await this.#options.calls.answer(call)
    } catch (error) {
      // A resumed call has no request that could report the error, and an open stream must end.
      this.#options.logger().error({ method, err: errorDetails(error) }, 'A request failed.')
      return { status: 500, body: errorMessage(id, toWireError(error)) }
    } finally {
      leave()
    }
  }

  #resume(resumed: ResumedCall, caller: Caller, target: LegacyStream): void {
    const { pushes, streams, logger } = this.#options
    const channel = new LegacyChannel({ streams, pushes, caller, target })
    logger().info({ method: resumed.method }, 'Continues a call that another process began.')
    this.#returning.noteClaimed(resumed.stream, caller, resumed.journal.id)
    const from = { header: undefined, resumed: resumed.journal }
    void this.#answer(resumed, caller, channel, from).then(({ body }) => this.#finish(channel, body))
  }

  /** Returns false if the caller of this method has to send the response. */
  #finish(channel: LegacyChannel, body: string): boolean {
    const isSent = channel.finish(body)
    this.#handOffs.finished()
    return isSent
  }
}

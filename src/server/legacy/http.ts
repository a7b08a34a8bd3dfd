/** Streamable HTTP of the session revisions: sessions by sealed id, resumable streams, pushed questions, GET and DELETE. */
import {
  assertHeadersAgree,
  type HeaderReader,
  isLegacyVersion,
  type Message,
  metaOf,
  type RequestId,
  type RequestMessage,
  type ResponseMessage,
} from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Call } from '../call.ts'
import type { Pipeline } from '../calls/pipeline.ts'
import { SESSION_NEEDED } from '../catalog/capabilities.ts'
import { ServerError } from '../errors.ts'
import { refusal, type Reply } from '../http/reply.ts'
import type { Sink } from '../http/sink.ts'
import type { EventBus } from '../lifecycle/eventBus.ts'
import { errorDetails, type Logger } from '../logger.ts'
import { errorMessage } from '../results.ts'
import { toWireError } from '../wireErrors.ts'
import { LegacyChannel } from './channel.ts'
import type { StandaloneStreams } from './getStreams.ts'
import type { Pushes, RevivedCall } from './push.ts'
import { legacyPeer, type OpenSession, readHandshake, type Sessions, strangerPeer } from './session.ts'
import type { SessionNotes } from './sessionFacts.ts'
import type { LegacyStreams, Owner } from './streams.ts'

export interface LegacyHttpOptions {
  readonly pipeline: Pipeline
  readonly sessions: Sessions
  readonly notes: SessionNotes
  readonly bus: EventBus
  readonly streams: LegacyStreams
  readonly standalone: StandaloneStreams
  readonly pushes: Pushes
  readonly logger: () => Logger
  /** Whether requests outside a session are refused. */
  readonly needsSession: boolean
}

const NO_STREAM: Reply = { status: 405, headers: { allow: 'POST' } }

export class LegacyHttp {
  readonly #options: LegacyHttpOptions
  readonly #live = new LiveCalls()

  constructor(options: LegacyHttpOptions) {
    this.#options = options
    options.bus.subscribe((event) => {
      if (event.kind === 'session-ended') this.#live.cancelAll(event.session)
    })
  }

  async post(
    message: Message,
    header: HeaderReader,
    principal: Principal | undefined,
    sink: Sink,
  ): Promise<Reply | undefined> {
    if (message.kind === 'request') assertPresentAgree(message, header)
    if (message.kind === 'request' && message.method === 'initialize') {
      return this.#initialize(message, header, principal, sink)
    }
    const owner = this.#owner(header, principal)
    if ('status' in owner) return owner
    switch (message.kind) {
      case 'request':
        return this.#request(message, header, owner, sink)
      case 'response':
        return this.#response(message, owner)
      case 'notification':
        if (message.method === 'notifications/cancelled')
          this.#live.cancel(owner.peer.session, message.params['requestId'])
        return { status: 202 }
      default:
        return message satisfies never
    }
  }

  /** A lost stream comes back, or the client listens for what belongs to no request. */
  get(header: HeaderReader, principal: Principal | undefined, sink: Sink): Reply | undefined {
    if (!/text\/event-stream/i.test(header('accept') ?? '')) return refusal(406, 'Accept text/event-stream.')
    const owner = this.#owner(header, principal)
    if ('status' in owner) return owner
    const lastEventId = header('last-event-id')
    if (lastEventId !== undefined && lastEventId !== '') return this.#resume(lastEventId, owner, sink)
    if (owner.peer.session === undefined) return NO_STREAM
    this.#options.standalone.open(owner, sink)
    return undefined
  }

  delete(header: HeaderReader, principal: Principal | undefined): Reply {
    const session = this.#session(header, principal)
    if (session === undefined) return refusal(400, 'Say which session ends: the Mcp-Session-Id header is missing.')
    if ('status' in session) return session
    this.#options.notes.end(session.id, session.expiresAt)
    return { status: 204 }
  }

  #resume(lastEventId: string, owner: Owner, sink: Sink): Reply | undefined {
    const { streams, standalone } = this.#options
    const place = streams.placeOf(lastEventId, owner)
    if (place.kind === 'standalone') {
      standalone.resume(place, owner, sink)
      return undefined
    }
    const stream = streams.at(place, owner)
    // The official clients come back again and again to a stream that ended without a result; this makes them stop.
    if (stream.isOver(place.after)) return NO_STREAM
    stream.connect(sink, place.after)
    return undefined
  }

  async #initialize(
    message: RequestMessage,
    header: HeaderReader,
    principal: Principal | undefined,
    sink: Sink,
  ): Promise<Reply | undefined> {
    const handshake = readHandshake(message.params)
    const reply = await this.#request(message, header, { peer: legacyPeer(handshake), principal }, sink)
    if (reply === undefined) return undefined
    return { ...reply, headers: { 'mcp-session-id': this.#options.sessions.begin(handshake, principal) } }
  }

  async #request(message: RequestMessage, header: HeaderReader, owner: Owner, sink: Sink): Promise<Reply | undefined> {
    const { streams, pushes } = this.#options
    const channel = new LegacyChannel({ streams, pushes, owner, way: sink })
    const { body, status } = await this.#answer(message, owner, channel, { header })
    return channel.finish(body) ? undefined : { status, body }
  }

  async #answer(
    message: Pick<RevivedCall, 'id' | 'method' | 'params'>,
    owner: Owner,
    channel: LegacyChannel,
    from: Pick<Call, 'header' | 'revived'>,
  ) {
    const { id, method, params } = message
    const call = channel.serve({ id, method, params, meta: metaOf(params), ...owner, channel, ...from })
    const leave = this.#live.enter(owner.peer.session, id, channel)
    try {
      return await this.#options.pipeline.answer(call)
    } catch (error) {
      // Nobody waits for a revived call here, and a stream that is open must end.
      this.#options.logger().error({ method, err: errorDetails(error) }, 'A request failed.')
      return { status: 500, body: errorMessage(id, toWireError(error)) }
    } finally {
      leave()
    }
  }

  async #response(message: ResponseMessage, owner: Owner): Promise<Reply> {
    const { pushes, streams, logger } = this.#options
    const revived = await pushes.take(message, owner)
    if (revived !== undefined) {
      const { name, position } = revived.stream
      const channel = new LegacyChannel({ streams, pushes, owner, way: streams.takeOver(name, owner, position) })
      logger().info({ method: revived.method }, 'A call that another process began goes on here.')
      const from = { header: undefined, revived: revived.journal }
      void this.#answer(revived, owner, channel, from).then(({ body }) => channel.finish(body))
    }
    return { status: 202 }
  }

  #owner(header: HeaderReader, principal: Principal | undefined): Owner | Reply {
    const version = header('mcp-protocol-version')
    if (version !== undefined && !isLegacyVersion(version))
      return refusal(400, 'That MCP-Protocol-Version has no sessions.')
    const session = this.#session(header, principal)
    if (session === undefined) {
      return this.#options.needsSession ? refusal(400, SESSION_NEEDED) : { peer: strangerPeer(version), principal }
    }
    return 'status' in session ? session : { peer: this.#options.sessions.peerOf(session), principal }
  }

  #session(header: HeaderReader, principal: Principal | undefined): OpenSession | Reply | undefined {
    const token = header('mcp-session-id')
    if (token === undefined) return undefined
    try {
      return this.#options.sessions.open(token, principal)
    } catch (error) {
      if (error instanceof ServerError) return refusal(404, error.message)
      throw error
    }
  }
}

/**
 * The session era needs none of these headers. But where one is there, somebody on the way may have routed or allowed
 * the request by it, so it must say what we run.
 */
function assertPresentAgree(message: RequestMessage, header: HeaderReader): void {
  const params = header('mcp-name') === undefined ? {} : message.params
  const present: HeaderReader = (name) => {
    if (name === 'mcp-protocol-version') return '' // here the version is the session's
    return header(name) ?? (name === 'mcp-method' ? message.method : undefined)
  }
  assertHeadersAgree({ ...message, params }, '', present)
}

/** The calls of sessions that are under way here, for those who cancel them. */

interface Cancellable {
  cancel(): void
}

class LiveCalls {
  readonly #bySession = new Map<string, Map<unknown, Cancellable>>()

  /**
   * Notes a call until the returned function is called. Outside a session there is no telling whose a call is, so such a
   * call cannot be cancelled.
   */
  enter(session: string | undefined, id: RequestId, call: Cancellable): () => void {
    if (session === undefined) return () => {}
    const calls = this.#bySession.get(session) ?? new Map<unknown, Cancellable>()
    this.#bySession.set(session, calls.set(id, call))
    return () => {
      if (calls.get(id) === call) calls.delete(id)
      if (calls.size === 0 && this.#bySession.get(session) === calls) this.#bySession.delete(session)
    }
  }

  cancel(session: string | undefined, id: unknown): void {
    if (session !== undefined) this.#bySession.get(session)?.get(id)?.cancel()
  }

  cancelAll(session: string): void {
    for (const call of this.#bySession.get(session)?.values() ?? []) call.cancel()
  }
}

/** Streamable HTTP of the session revisions: sessions by sealed id, resumable streams, pushed questions, GET and DELETE. */
import {
  type HeaderReader,
  isLegacyVersion,
  type Message,
  type RequestMessage,
  type ResponseMessage,
} from '../protocol/index.ts'
import type { Principal } from './authenticator.ts'
import type { Call } from './call.ts'
import { ServerError } from './errors.ts'
import { LegacyChannel } from './legacyChannel.ts'
import type { LegacyStreams, Owner } from './legacyStreams.ts'
import type { Logger } from './logger.ts'
import type { Pipeline } from './pipeline.ts'
import type { Pushes, RevivedCall } from './pushes.ts'
import { type Reply, refusal } from './reply.ts'
import { legacyPeer, type OpenSession, readHandshake, type Sessions, strangerPeer } from './session.ts'
import type { SessionNotes } from './sessionNotes.ts'
import type { Sink } from './sink.ts'
import type { StandaloneStreams } from './standaloneStreams.ts'

export interface LegacyHttpOptions {
  readonly pipeline: Pipeline
  readonly sessions: Sessions
  readonly notes: SessionNotes
  readonly streams: LegacyStreams
  readonly standalone: StandaloneStreams
  readonly pushes: Pushes
  readonly logger: () => Logger
}

export class LegacyHttp {
  readonly #options: LegacyHttpOptions
  readonly #live = new Map<string, LegacyChannel>()

  constructor(options: LegacyHttpOptions) {
    this.#options = options
  }

  async post(
    message: Message,
    header: HeaderReader,
    principal: Principal | undefined,
    sink: Sink,
  ): Promise<Reply | undefined> {
    if (message.kind === 'request' && message.method === 'initialize') return this.#initialize(message, principal, sink)
    const owner = this.#owner(header, principal)
    if ('status' in owner) return owner
    switch (message.kind) {
      case 'request':
        return this.#request(message, owner, sink)
      case 'response':
        return this.#response(message, owner)
      case 'notification':
        if (message.method === 'notifications/cancelled')
          this.#live.get(liveKey(owner, message.params['requestId']))?.cancel()
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
    if (lastEventId !== undefined && lastEventId !== '') this.#options.streams.resume(lastEventId, owner, sink)
    else if (owner.peer.session === undefined) return { status: 405, headers: { allow: 'POST' } }
    else this.#options.standalone.open(owner, sink)
    return undefined
  }

  delete(header: HeaderReader, principal: Principal | undefined): Reply {
    const session = this.#session(header, principal)
    if (session === undefined) return refusal(400, 'Say which session ends: the Mcp-Session-Id header is missing.')
    if ('status' in session) return session
    this.#options.notes.end(session.id, session.expiresAt)
    this.#options.standalone.close(session.id)
    return { status: 204 }
  }

  async #initialize(message: RequestMessage, principal: Principal | undefined, sink: Sink): Promise<Reply | undefined> {
    const handshake = readHandshake(message.params)
    const reply = await this.#request(message, { peer: legacyPeer(handshake), principal }, sink)
    if (reply === undefined) return undefined
    return { ...reply, headers: { 'mcp-session-id': this.#options.sessions.begin(handshake, principal) } }
  }

  async #request(message: RequestMessage, owner: Owner, sink: Sink): Promise<Reply | undefined> {
    const { streams, pushes } = this.#options
    const channel = new LegacyChannel(streams, pushes, owner, sink)
    const { body, status } = await this.#answer(message, owner, channel)
    return channel.finish(body) ? undefined : { status, body }
  }

  async #answer(
    message: Pick<RevivedCall, 'id' | 'method' | 'params'>,
    owner: Owner,
    channel: LegacyChannel,
    revived?: RevivedCall,
  ) {
    const { id, method, params } = message
    const meta = (params['_meta'] ?? {}) as Call['meta']
    const journal = revived && { revived: revived.journal }
    const call = channel.serve({ id, method, params, meta, ...owner, channel, header: undefined, ...journal })
    const key = liveKey(owner, id)
    // Without a session one client could cancel another's call by its id.
    if (owner.peer.session !== undefined) this.#live.set(key, channel)
    try {
      return await this.#options.pipeline.answer(call)
    } finally {
      if (this.#live.get(key) === channel) this.#live.delete(key)
    }
  }

  async #response(message: ResponseMessage, owner: Owner): Promise<Reply> {
    const { pushes, streams } = this.#options
    const revived = await pushes.take(message, owner)
    if (revived !== undefined) {
      const channel = new LegacyChannel(streams, pushes, owner, streams.named(revived.stream, owner))
      this.#options.logger().info({ method: revived.method }, 'A call that another process began goes on here.')
      void this.#answer(revived, owner, channel, revived).then(({ body }) => channel.finish(body))
    }
    return { status: 202 }
  }

  #owner(header: HeaderReader, principal: Principal | undefined): Owner | Reply {
    const version = header('mcp-protocol-version')
    if (version !== undefined && !isLegacyVersion(version))
      return refusal(400, 'That MCP-Protocol-Version has no sessions.')
    const session = this.#session(header, principal)
    if (session === undefined) return { peer: strangerPeer(version), principal }
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

function liveKey({ peer }: Owner, requestId: unknown): string {
  return JSON.stringify([peer.session ?? null, requestId])
}

/**
 * The session era over Streamable HTTP (2025-03-26 to 2025-11-25), on undici's `dispatch`. A session may wait for a
 * person for hours, during which the official SDK's transport with `fetch` needs four times the memory.
 *
 * - A message is one POST. The response to a request is JSON, or a stream, which resumes by `Last-Event-ID` when it
 *   breaks.
 * - Messages that belong to no request come on their own stream (GET), from the moment the session is initialized.
 *   Servers need not have one (405).
 * - DELETE ends the session. Closing without it leaves the session for another gateway to resume.
 */
import {
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client'
import type { Authorizer, HttpAddress } from '../../../client/index.ts'
import {
  headersOf,
  mayBeMessage,
  MessageOverLimit,
  parseServerText,
  refusalOf,
  ServerUnreadable,
  UnreadableRun,
} from '../../../client/internal.ts'
import {
  isId,
  isMessage,
  isObject,
  type Json,
  mediaTypeOf,
  OpenRequests,
  readMessage,
  type RequestId,
  settledWithin,
  unref,
} from '../../../protocol/index.ts'
import type { Upstream } from '../../upstreams/upstreams.ts'
import type { MessageInfo, UpstreamSession } from '../link.ts'
import { type Exchange, type ExchangeRequest, isOk, type Reply } from './exchange.ts'
import { refusalOfPost, sendNotice } from './posts.ts'
import { OWN_HEADERS, Requester } from './requester.ts'
import { SessionStream, type Reopening, type StreamedRequest, type StreamOwner } from './sessionStream.ts'

export interface SessionTransportOptions {
  readonly address: HttpAddress
  readonly upstream: Upstream
  /** The operator's login, if there is one. */
  readonly authorizer: Authorizer | undefined
  /** The headers of the one caller of the link. */
  readonly headers: Readonly<Record<string, string>> | undefined
  /** The session to resume. @default a new one */
  readonly session: UpstreamSession | undefined
}

const SESSION = 'mcp-session-id'
const VERSION = 'mcp-protocol-version'
const STREAM = 'text/event-stream'
const WHOLE = 'application/json'
/** The status while the previous gateway's stream is still open: servers accept only one. */
const TAKEN = 409
/** Refusals that may be temporary. */
const PASSING: ReadonlySet<number> = new Set([401, 408, TAKEN, 425, 429])
/** Maximum time for a server to end the stream of a finished request. Some never do, and each holds a connection. */
const LINGER_MS = 2000
/** Maximum wait for the end of a session when the transport closes. */
const END_MS = 2000

export class SessionTransport implements Transport, StreamOwner {
  declare onmessage?: (message: JSONRPCMessage, info?: MessageInfo) => void
  declare onclose?: Transport['onclose']
  declare onerror?: Transport['onerror']
  sessionId: string | undefined
  readonly #options: SessionTransportOptions
  readonly #listening = Promise.withResolvers<void>()
  /** Resolves when the stream for messages of no request is open, or cannot be opened for now. */
  readonly listening = this.#listening.promise
  readonly #requester: Requester
  readonly #streams = new OpenRequests<SessionStream>()
  readonly #unreadable = new UnreadableRun()
  readonly #timers = new Set<ReturnType<typeof setTimeout>>()
  #headers: Readonly<Record<string, string>> | undefined
  #version: string | undefined
  #isSweeping = false
  #isClosed = false

  constructor(options: SessionTransportOptions) {
    this.#options = options
    this.#requester = new Requester(options.upstream, options.authorizer)
    this.#headers = options.headers
    this.sessionId = options.session?.id
    this.#version = options.session?.version
  }

  start(): Promise<void> {
    return Promise.resolve()
  }

  setProtocolVersion(version: string): void {
    this.#version = version
  }

  /** Replaces the caller's headers: tokens change while a session lasts. */
  setHeaders(headers: Readonly<Record<string, string>>): void {
    this.#headers = headers
  }

  async send(message: JSONRPCMessage, { onRequestStreamEnd: onEnd }: TransportSendOptions = {}): Promise<void> {
    const { id, method, params } = message as Json
    if (method !== undefined && isId(id)) return this.#request(message, { id, onEnd })
    if (method === 'notifications/cancelled' && isObject(params)) this.#abandon(params['requestId'])
    return this.#tell(message)
  }

  /** Opens the stream for messages of no request, and keeps it open. */
  async listen(): Promise<void> {
    const stream = new SessionStream(this)
    if ((await this.reopen(stream, undefined)) === 'failed') stream.end()
  }

  /** Ends the session at the server, which may refuse that. */
  async endSession(): Promise<void> {
    if (this.sessionId === undefined) return
    const ended = this.#requester
      .request({ method: 'DELETE', headers: this.#headersWith({}) })
      .then((reply) => reply.text())
    this.sessionId = undefined
    await settledWithin(ended, END_MS)
  }

  close(): Promise<void> {
    this.#isClosed = true
    this.#listening.resolve()
    for (const timer of this.#timers) clearTimeout(timer)
    this.#requester.close()
    this.onclose?.()
    return Promise.resolve()
  }

  receive(text: string, on?: RequestId): void {
    if (this.#unreadable.isOver || !mayBeMessage(text)) return
    try {
      const message = this.#parsed(text)
      if (isObject(message)) this.#take(message, on)
      if (isMessage(message)) this.#unreadable.end()
      else this.#skip()
    } catch (error) {
      if (!(error instanceof MessageOverLimit)) throw error
      this.#refuse(error)
      this.#skip()
    }
  }

  #skip(): void {
    if (!this.#unreadable.add()) return
    this.onerror?.(new ServerUnreadable())
    void this.close()
  }

  exceeded(id: RequestId, { message }: MessageOverLimit): void {
    this.#refuse({ id, method: undefined, message })
  }

  #parsed(text: string): unknown {
    return parseServerText(text, this.#options.upstream.maxMessageBytes)
  }

  /** The response to a request may come on any stream. */
  #take(message: Json, on?: RequestId): void {
    if (!('method' in message)) this.#abandon(message['id'])
    this.onmessage?.(message as unknown as JSONRPCMessage, on === undefined ? undefined : { relatedRequestId: on })
  }

  /** Reports a message over the limit as an error: to the server for a request, to the caller for a response. */
  #refuse(limit: Pick<MessageOverLimit, 'id' | 'method' | 'message'>): void {
    const refusal = refusalOf(limit)
    if (refusal === undefined) return
    if (limit.method === undefined) this.#take({ ...refusal })
    else this.#tell({ ...refusal }).catch(() => {}) // a server that is gone needs no answer
  }

  ended(id: RequestId): void {
    this.#streams.delete(id)
  }

  later(ms: number, work: () => void): void {
    if (this.#isClosed) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      work()
    }, ms)
    this.#timers.add(unref(timer))
  }

  async reopen(stream: SessionStream, lastEventId: string | undefined): Promise<Reopening> {
    const headers = this.#headersWith({ accept: STREAM })
    if (lastEventId !== undefined) headers.set('last-event-id', lastEventId)
    const { status = 0, isStream = false } = await this.#requester
      .request({ method: 'GET', headers, sink: stream, onOpen: (exchange) => stream.connect(exchange) })
      .catch((): Partial<Reply> => ({}))
    if (status !== 0) this.#options.upstream.answersStreams = true
    if (status !== TAKEN) this.#listening.resolve()
    if (isStream) return 'open'
    return status === 0 || status >= 500 || PASSING.has(status) ? 'failed' : 'refused'
  }

  async #request(message: Json, request: StreamedRequest): Promise<void> {
    const stream = new SessionStream(this, request)
    this.#streams.set(request.id, stream)
    try {
      const onOpen = (exchange: Exchange): void => stream.connect(exchange)
      const reply = await this.#post(message, { sink: stream, onOpen, isCancelled: () => stream.isAbandoned })
      if (reply.isStream) return
      const text = await reply.text()
      if (reply.status === 202) return this.ended(request.id) // the response comes on another stream
      this.#takeWhole(reply, text)
      stream.end()
    } catch (error) {
      this.ended(request.id)
      throw error
    }
  }

  /** Sends a notification or an answer. */
  #tell(message: Json): Promise<void> {
    const post = async (onOpen: (exchange: Exchange) => void): Promise<Reply> => {
      const reply = await this.#post(message, { onOpen })
      if (message['method'] === 'notifications/initialized') void this.listen()
      return reply
    }
    return sendNotice(post, () => this.#isClosed)
  }

  #abandon(id: unknown): void {
    const stream = isId(id) ? this.#streams.get(id) : undefined
    if (stream === undefined) return
    stream.abandon()
    this.#sweepLater()
  }

  /** One timer for all: most streams end by themselves at once. */
  #sweepLater(): void {
    if (this.#isSweeping) return
    this.#isSweeping = true
    this.later(LINGER_MS, () => {
      this.#isSweeping = false
      for (const stream of this.#streams.values()) stream.closeAbandoned()
    })
  }

  /** Takes a response that is no stream. */
  #takeWhole({ headers }: Reply, text: string): void {
    const contentType = headers['content-type']
    if (mediaTypeOf(contentType) !== WHOLE) {
      const sentence = 'The server answered with something that is no MCP message.'
      throw new SdkError(SdkErrorCode.ClientHttpUnexpectedContent, sentence, { contentType })
    }
    for (const message of [this.#parsed(text)].flat()) {
      readMessage(message)
      this.#take(message as Json)
    }
  }

  async #post(message: Json, receiver: Pick<ExchangeRequest, 'sink' | 'onOpen' | 'isCancelled'>): Promise<Reply> {
    const begins = message['method'] === 'initialize'
    const hasSession = this.sessionId !== undefined
    const reply = await this.#requester.request({
      method: 'POST',
      headers: this.#headersWith({ accept: `${WHOLE}, ${STREAM}`, 'content-type': WHOLE }),
      body: JSON.stringify(message),
      ...receiver,
      ...(begins && { onReply: (begun) => this.#beginSession(begun) }),
    })
    if (isOk(reply.status)) return reply
    const { status, headers } = reply
    const text = await reply.text().catch(() => '')
    throw refusalOfPost(message, { status, headers, text, hasSession }, this.#options.upstream.maxMessageBytes)
  }

  #beginSession({ status, headers }: Reply): void {
    const id = headers[SESSION]
    if (isOk(status)) this.sessionId = typeof id === 'string' && id !== '' ? id : undefined
  }

  #headersWith(more: Readonly<Record<string, string>>): Headers {
    const { sessionId } = this
    const session = {
      ...(sessionId !== undefined && { [SESSION]: sessionId }),
      ...(this.#version !== undefined && { [VERSION]: this.#version }),
    }
    return headersOf(OWN_HEADERS, this.#options.address.headers, this.#headers, session, more)
  }
}

/**
 * The session era over Streamable HTTP (2025-03-26 to 2025-11-25), on undici's `dispatch`. A session may wait for a person
 * for hours, and the official SDK's transport with `fetch` takes four times the memory meanwhile.
 *
 * - A message is one POST. The response to a request is JSON, or a stream, which goes on by `Last-Event-ID` when it breaks.
 * - What belongs to no request comes on a stream of its own (GET), from the moment the session is initialized. Servers need
 *   not have one (405).
 * - DELETE ends the session. Closing without it leaves the session to whoever goes on with it.
 */
import {
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client'
import type { Authorizer, HttpAddress } from '../../../client/index.ts'
import { headersOf } from '../../../client/internal.ts'
import {
  isId,
  isObject,
  type Json,
  mediaTypeOf,
  OpenRequests,
  parseJson,
  readMessage,
  type RequestId,
  settledWithin,
  unref,
} from '../../../protocol/index.ts'
import type { Upstream } from '../../upstreams/upstreams.ts'
import type { UpstreamSession } from '../link.ts'
import { lostIn, mayBeLost } from '../lostSession.ts'
import { type Exchange, type ExchangeRequest, isOk, type Reply } from './exchange.ts'
import { OWN_HEADERS, Requester } from './requester.ts'
import { SessionStream, type Reopening, type StreamedRequest, type StreamOwner } from './sessionStream.ts'

export interface SessionTransportOptions {
  readonly address: HttpAddress
  readonly upstream: Upstream
  /** The login of the gateway's operator, where there is one. */
  readonly authorizer: Authorizer | undefined
  /** The headers of the one caller of the link. */
  readonly headers: Readonly<Record<string, string>> | undefined
  /** The session to go on with. @default a new one */
  readonly session: UpstreamSession | undefined
}

const SESSION = 'mcp-session-id'
const VERSION = 'mcp-protocol-version'
const STREAM = 'text/event-stream'
const WHOLE = 'application/json'
/** The stream of the gateway before may be open for a while, and servers take only one. */
const TAKEN = 409
/** Of other refusals these may be over later. */
const PASSING: ReadonlySet<number> = new Set([401, 408, TAKEN, 425, 429])
/** So long a server may take to end the stream of a request that is over. Some never do, and each takes a connection. */
const LINGER_MS = 2000
/** How long the response may take to what needs none. */
const NOTICE_MS = 60_000
/** How long whoever closes waits for the end of a session. */
const END_MS = 2000

export class SessionTransport implements Transport, StreamOwner {
  declare onmessage?: Transport['onmessage']
  declare onclose?: Transport['onclose']
  declare onerror?: Transport['onerror']
  sessionId: string | undefined
  readonly #options: SessionTransportOptions
  readonly #listening = Promise.withResolvers<void>()
  readonly #requester: Requester
  /** Of requests. */
  readonly #streams = new OpenRequests<SessionStream>()
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

  /** Resolves when the stream for what belongs to no request is open, or it is known that there will be none for now. */
  get listening(): Promise<void> {
    return this.#listening.promise
  }

  start(): Promise<void> {
    return Promise.resolve()
  }

  setProtocolVersion(version: string): void {
    this.#version = version
  }

  /** The caller's headers from now on: tokens change while a session lasts. */
  setHeaders(headers: Readonly<Record<string, string>>): void {
    this.#headers = headers
  }

  async send(message: JSONRPCMessage, { onRequestStreamEnd: onEnd }: TransportSendOptions = {}): Promise<void> {
    const { id, method, params } = message as Json
    if (method !== undefined && isId(id)) return this.#request(message, { id, onEnd })
    if (method === 'notifications/cancelled' && isObject(params)) this.#abandon(params['requestId'])
    return this.#tell(message)
  }

  /** Opens the stream for what belongs to no request, and keeps it open. */
  async listen(): Promise<void> {
    const stream = new SessionStream(this)
    if ((await this.reopen(stream, undefined)) === 'failed') stream.end(false)
  }

  /** Ends the session at the server, which need not allow that. */
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

  /** The response to a request may come on any stream. */
  take(message: Json): void {
    if (!('method' in message)) this.#abandon(message['id'])
    this.onmessage?.(message as unknown as JSONRPCMessage)
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
      stream.end(false)
    } catch (error) {
      this.ended(request.id)
      throw error
    }
  }

  /** Sends what is no request. Nobody waits for its response, so that has its time. */
  async #tell(message: Json): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const onOpen = (exchange: Exchange): void => {
      clearTimeout(timer)
      timer = unref(setTimeout(() => exchange.cancel(), NOTICE_MS))
    }
    try {
      const reply = await this.#post(message, { onOpen })
      if (message['method'] === 'notifications/initialized') void this.listen()
      await reply.text()
    } finally {
      clearTimeout(timer)
    }
  }

  #abandon(id: unknown): void {
    const stream = isId(id) ? this.#streams.get(id) : undefined
    if (stream === undefined) return
    stream.abandon()
    this.#sweepLater()
  }

  /** One timer for all: most streams end by themselves, at once. */
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
    for (const message of [parseJson(text)].flat()) {
      readMessage(message)
      this.take(message as Json)
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
    const { status } = reply
    if (isOk(status)) return reply
    const text = await reply.text().catch(() => '')
    const lost = begins || !mayBeLost(status) ? undefined : lostIn(text, { status, hasSession, id: message['id'] })
    throw lost ?? refused(status, text)
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

function refused(status: number, text: string): SdkHttpError {
  const sentence = `The server answered HTTP ${status}.`
  return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, sentence, { status, statusText: '', text })
}

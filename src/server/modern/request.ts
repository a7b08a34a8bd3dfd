import {
  assertHeadersAgree,
  hasEnvelope,
  type HeaderReader,
  type Message,
  mismatch,
  type Json,
  MODERN_VERSION,
  ProtocolError,
  readEnvelope,
  readMessage,
  type RequestMessage,
  unref,
  unsupportedVersion,
} from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Call, CallAnswer, CallHandler, Channel } from '../call.ts'
import type { HttpReply, Sink } from '../http/exchange.ts'
import type { EraHandler } from '../http/messageHandler.ts'
import { KEEP_ALIVE, KEEP_ALIVE_MS, SSE_HEADERS, sseEvent } from '../http/sse.ts'
import type { ArrivedCall } from '../forwarding/calls.ts'
import { notificationMessage } from '../results.ts'

interface ModernRequest {
  readonly message: RequestMessage
  readonly header: HeaderReader | undefined
  readonly principal: Principal | undefined
  readonly channel: Channel
}

/** Streamable HTTP of the stateless revision: one POST, one answer. */
export class ModernHttp implements EraHandler {
  readonly #calls: CallHandler
  readonly #servesLegacy: boolean

  /** `servesLegacy`: whether clients of the session era are served as well. */
  constructor(calls: CallHandler, servesLegacy: boolean) {
    this.#calls = calls
    this.#servesLegacy = servesLegacy
  }

  post(
    message: Message,
    header: HeaderReader,
    principal: Principal | undefined,
    sink: Sink,
  ): HttpReply | undefined | Promise<HttpReply | undefined> {
    if (message.kind === 'notification') return { status: 202 }
    if (message.kind === 'response') {
      throw new ProtocolError('MESSAGE_INVALID', 'A client sends answers as inputResponses, not as responses.')
    }
    if (message.method === 'initialize' && !this.#servesLegacy) assertNoHandshake(message)
    assertKnownVersion(message, header, this.#servesLegacy)
    const channel = new ModernChannel(sink, acceptsStream(header))
    const finish = (answer: CallAnswer): HttpReply | undefined => (channel.finish(answer.body) ? undefined : answer)
    const answered = this.#calls.answer(modernCall({ message, header, principal, channel }))
    return answered instanceof Promise ? answered.then(finish) : finish(answered)
  }

  /** Answers a call that another instance forwards. It has checked the headers, and waits for the head of the stream. */
  async answerForwarded(arrived: ArrivedCall, sink: Sink): Promise<undefined> {
    const { principal, session, address, authorization, approved, from: forwardedBy, onCancel } = arrived
    const request = readMessage(arrived.message)
    if (request.kind !== 'request') throw new ProtocolError('MESSAGE_INVALID', 'Only calls are forwarded.')
    const stream = new ModernChannel(sink, true)
    let hasLeft = false
    onCancel(() => (hasLeft = true))
    // The caller is at the other end of another connection than this.
    const channel: Channel = {
      notify: (method, params) => stream.notify(method, params),
      onCancel,
      get cancelled() {
        return hasLeft
      },
    }
    const call = modernCall({ message: request, header: undefined, principal, channel })
    stream.open()
    const peer = { ...call.peer, session }
    const { body } = await this.#calls.answer({ ...call, peer, address, authorization, approved, forwardedBy })
    stream.finish(body)
  }
}

/** A client of the session era cannot continue by itself, so the error tells it which versions are served. */
function assertNoHandshake(message: RequestMessage): void {
  if (hasEnvelope(message.params)) return
  throw unsupportedVersion(String(message.params['protocolVersion']), false)
}

function acceptsStream(header: HeaderReader): boolean {
  return /text\/event-stream|text\/\*|\*\/\*/i.test(header('accept') ?? '*/*')
}

/** Makes a call of a stateless request. Throws when its envelope, its version or its headers are wrong. */
export function modernCall({ message, header, principal, channel }: ModernRequest): Call {
  const { version, client, capabilities, logLevel, meta } = readEnvelope(message.params)
  if (header !== undefined) assertHeadersAgree(message, version, header)
  if (version !== MODERN_VERSION) throw unsupportedVersion(version, false)
  const { id, method, params } = message
  const peer = {
    era: 'modern',
    version,
    client,
    capabilities,
    logLevel,
    session: undefined,
    takesInputRequired: true,
  } as const
  return { id, method, params, meta, peer, principal, channel, header }
}

/** A request whose header names a version that is not served may have no envelope: the versions tell its client more. */
function assertKnownVersion({ params }: RequestMessage, header: HeaderReader, servesLegacy: boolean): void {
  const version = header('mcp-protocol-version')
  if (version === MODERN_VERSION || hasEnvelope(params)) return
  if (version === undefined) throw mismatch('The MCP-Protocol-Version header is missing.')
  throw unsupportedVersion(version, servesLegacy)
}

/** The answer to a stateless request over HTTP: one JSON message, or a stream, opened by the first notification. */
class ModernChannel implements Channel {
  readonly #sink: Sink
  readonly #streams: boolean
  #keepAlive: ReturnType<typeof setInterval> | undefined
  #opened = false
  #finished = false

  /** `streams`: whether the client accepts a stream. If not, notifications are dropped. */
  constructor(sink: Sink, streams: boolean) {
    this.#sink = sink
    this.#streams = streams
  }

  get address(): string | undefined {
    return this.#sink.address
  }

  get cancelled(): boolean {
    return this.#sink.disconnected
  }

  onCancel(listener: () => void): void {
    this.#sink.onDisconnect(listener)
  }

  notify(method: string, params: Json): void {
    if (!this.#streams || this.#finished || this.#sink.disconnected) return
    if (!this.#opened) this.open()
    this.#sink.write(sseEvent(notificationMessage(method, params)))
  }

  /** Sends the response on the stream, if there is one; it is the last message there (MRTR-15). */
  finish(body: string): boolean {
    this.#finished = true
    if (!this.#opened) return false
    clearInterval(this.#keepAlive)
    if (!this.#sink.disconnected) this.#sink.write(sseEvent(body))
    this.#sink.end()
    return true
  }

  open(): void {
    this.#opened = true
    this.#sink.open(SSE_HEADERS)
    this.#keepAlive = unref(setInterval(() => this.#sink.write(KEEP_ALIVE), KEEP_ALIVE_MS))
    this.#sink.onDisconnect(() => clearInterval(this.#keepAlive))
  }
}

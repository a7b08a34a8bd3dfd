import {
  assertHeadersAgree,
  type HeaderReader,
  type Json,
  MODERN_VERSION,
  ProtocolError,
  readEnvelope,
  type RequestMessage,
} from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Call, Channel } from '../call.ts'
import type { Sink } from '../http/sink.ts'
import { KEEP_ALIVE, KEEP_ALIVE_MS, SSE_HEADERS, sseEvent } from '../http/sse.ts'
import { notificationMessage } from '../results.ts'

interface ModernRequest {
  readonly message: RequestMessage
  readonly header: HeaderReader | undefined
  readonly principal: Principal | undefined
  readonly channel: Channel
}

/** A stateless request as a call: its envelope read, its version known, its headers in agreement. */
export function modernCall({ message, header, principal, channel }: ModernRequest): Call {
  const { version, client, capabilities, logLevel, meta } = readEnvelope(message.params)
  if (header !== undefined) assertHeadersAgree(message, version, header)
  if (version !== MODERN_VERSION) throw unsupported(version)
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

function unsupported(requested: string): ProtocolError {
  return new ProtocolError('VERSION_UNSUPPORTED', `This server speaks ${MODERN_VERSION}.`, {
    supported: [MODERN_VERSION],
    requested,
  })
}

/** The answer to a stateless request over HTTP: one JSON message, or a stream opened only when something is to be told first. */

export class ModernChannel implements Channel {
  readonly #sink: Sink
  readonly #streams: boolean
  #keepAlive: ReturnType<typeof setInterval> | undefined
  #opened = false
  #finished = false

  /** `streams`: whether the client accepts a stream. One that does not is spared notifications. */
  constructor(sink: Sink, streams: boolean) {
    this.#sink = sink
    this.#streams = streams
  }

  get cancelled(): boolean {
    return this.#sink.gone
  }

  onCancel(listener: () => void): void {
    this.#sink.onGone(listener)
  }

  notify(method: string, params: Json): void {
    if (!this.#streams || this.#finished || this.#sink.gone) return
    if (!this.#opened) this.#open()
    this.#sink.write(sseEvent(notificationMessage(method, params)))
  }

  /** Sends the response on the stream, if there is one; it is the last message there (MRTR-15). */
  finish(body: string): boolean {
    this.#finished = true
    if (!this.#opened) return false
    clearInterval(this.#keepAlive)
    if (!this.#sink.gone) this.#sink.write(sseEvent(body))
    this.#sink.end()
    return true
  }

  #open(): void {
    this.#opened = true
    this.#sink.open(SSE_HEADERS)
    this.#keepAlive = setInterval(() => this.#sink.write(KEEP_ALIVE), KEEP_ALIVE_MS)
    this.#keepAlive.unref()
    this.#sink.onGone(() => clearInterval(this.#keepAlive))
  }
}

/**
 * One passed-through request: its bytes go to a server unchanged, and the answer comes back unchanged. The request is
 * parsed only on a failure, because the error needs its id.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { eventBytes, type SizeCounter, totalBytes, EventParser } from '../../client/internal.ts'
import { idOf, isObject, mediaTypeOf, META, parseJson, type RequestId } from '../../protocol/index.ts'
import {
  type ByteSink,
  errorMessage,
  type HostSink,
  type HttpReply,
  isLaterRound,
  notificationMessage,
  resultMessage,
  sseEvent,
  toWireError,
} from '../../server/internal.ts'
import type { AnswerReceiver, UpstreamRequest, Upstreams } from '../upstreams/upstreams.ts'
import { BackendError, credentialsRefused, inRound, NO_MESSAGE, notInTime, tooLarge, unanswered } from '../errors.ts'
import type { LimitedRequest } from './deadlines.ts'
import { answerHeadersOf } from './headers.ts'

export interface PassthroughRequestOptions {
  readonly server: string
  readonly upstreams: Upstreams
  readonly headers: string[]
  readonly body: Buffer
  readonly sink: HostSink
  /** Its timeout, which the deadlines enforce. */
  readonly timeoutMs: number
  readonly maxResultBytes: number
  readonly owner: PassthroughOwner
}

export interface PassthroughOwner {
  /** Called once at its end. `reply` is the answer, if it did not go through the sink. */
  ended(outcome: PassthroughOutcome, reply: HttpReply | undefined): void
}

/** The outcome of a request. Without an error or a status the caller has disconnected. */
export interface PassthroughOutcome {
  readonly status?: number | undefined
  readonly error?: BackendError
}

/** The highest status of a web-standard response. */
const MAX_STATUS = 599
const COMPRESSED = 'answered with compressed bytes, which it was not asked for. Let it answer without Content-Encoding.'
const EVENT_END = /(?:\n\n|\r\r|\r\n\r\n)$/

export class PassthroughRequest implements AnswerReceiver, LimitedRequest {
  readonly #options: PassthroughRequestOptions
  queued: LimitedRequest['queued']
  #request: UpstreamRequest | undefined
  #answer: ByteSink | undefined
  #isStream = false
  /** Whether the answer has a media type of MCP. An answer of another type must be empty. */
  #isMessage = false
  #hasWritten = false
  #hasEnded = false
  #sizeWith: SizeCounter | undefined
  /** The number of remaining bytes; NaN if unknown. */
  #left = Number.NaN
  /** The last bytes written to a stream. */
  #tail: Buffer | undefined
  #last: LastMessage | undefined
  #isOver = false
  #outcome: PassthroughOutcome = {}

  constructor(options: PassthroughRequestOptions) {
    this.#options = options
  }

  run(): void {
    const { upstreams, headers, body, sink } = this.#options
    this.#request = upstreams.send({ headers, body }, this)
    sink.onDisconnect(() => this.#leave())
  }

  /** Ends a subscription as a server does: with a cancellation and a result. */
  close(): void {
    const id = this.#id
    if (this.#isOver || id === undefined) return this.#leave()
    const mark = { _meta: { [META.subscription]: id } }
    const cancelled = notificationMessage('notifications/cancelled', { ...mark, requestId: id })
    this.#request?.cancel()
    this.#endWith(resultMessage(id, JSON.stringify({ resultType: 'complete', ...mark })), sseEvent(cancelled))
  }

  late(): void {
    const { server, timeoutMs } = this.#options
    this.#fail(notInTime(server, timeoutMs))
  }

  begin(status: number, headers: IncomingHttpHeaders): void {
    const fault = this.#faultOf(status, headers)
    if (fault !== undefined) return this.#fail(fault)
    const { sink } = this.#options
    this.#outcome = { status }
    this.#left = Number(headers['content-length'] ?? Number.NaN)
    if (this.#isStream && endsByClosing(headers)) this.#last = new LastMessage()
    this.#answer = sink.openBytes({ status, headers: answerHeadersOf(headers) }, () => this.#request?.resume())
    if (this.#isStream) this.#answer.flush()
  }

  data(chunk: Buffer): void {
    const answer = this.#answer
    if (answer === undefined) return
    if (!this.#isMessage) return this.#fail(this.#noMessage())
    this.#left -= chunk.length
    if (this.#left === 0 && !this.#hasWritten) {
      this.#hasEnded = true
      return answer.end(chunk) // the usual answer: one chunk
    }
    this.#sizeWith ??= this.#isStream ? eventBytes() : totalBytes()
    if (this.#sizeWith(chunk) > this.#options.maxResultBytes) return this.#fail(this.#tooLarge())
    this.#hasWritten = true
    if (this.#isStream) this.#tail = chunk
    this.#last?.add(chunk)
    if (!answer.write(chunk)) this.#request?.pause()
  }

  end(): void {
    if (this.#last?.answers(this.#id) === false)
      return this.fail(new Error('The stream ended without an answer.'), true)
    if (!this.#hasEnded) this.#answer?.end()
    this.#settle(undefined)
  }

  fail(cause: Error, wasSent: boolean): void {
    this.#fail(unanswered(this.#options.server, cause, wasSent))
  }

  /** Why an answer cannot be passed on: it is no MCP message, or not for this caller. Undefined if it can be. */
  #faultOf(status: number, headers: IncomingHttpHeaders): BackendError | undefined {
    const { server, maxResultBytes } = this.#options
    const given = headers['content-type']
    const type = given === 'application/json' ? given : mediaTypeOf(given)
    this.#isStream = type === 'text/event-stream'
    const isMessage = this.#isStream || type === 'application/json'
    this.#isMessage = isMessage
    if (status === 401 || (status === 403 && !isMessage)) return credentialsRefused(server)
    if (status >= 300 && status < 400)
      return new BackendError('BACKEND_INVALID', server, `answered HTTP ${status}. Redirects are not followed.`)
    if (status > MAX_STATUS || (!isMessage && status >= 400))
      return new BackendError('BACKEND_INVALID', server, `answered HTTP ${status}.`)
    if (!isMessage && status !== 202 && status !== 204) return this.#noMessage()
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
      return new BackendError('BACKEND_INVALID', server, COMPRESSED)
    return Number(headers['content-length'] ?? 0) > maxResultBytes ? this.#tooLarge() : undefined
  }

  #noMessage(): BackendError {
    return new BackendError('BACKEND_INVALID', this.#options.server, NO_MESSAGE)
  }

  #tooLarge(): BackendError {
    const { server, maxResultBytes } = this.#options
    return new BackendError('BACKEND_INVALID', server, tooLarge(maxResultBytes))
  }

  /** Sends the error to the caller, if that is still possible. */
  #fail(error: BackendError): void {
    if (this.#isOver) return
    this.#request?.cancel()
    this.#outcome = { ...this.#outcome, error }
    this.#endWith(errorTo(this.#options.body, error))
  }

  /**
   * Sends a last message: as the whole answer if nothing was sent yet, or as an event of the stream, after the events
   * `before`. Otherwise the answer is aborted.
   */
  #endWith(message: string, before = ''): void {
    if (this.#answer === undefined || !(this.#hasWritten || this.#isStream))
      return this.#settle({ status: 200, body: message })
    if (!this.#endStream(before + sseEvent(message))) this.#answer.abort()
    this.#settle(undefined)
  }

  /** Sends the last events. First it terminates a truncated event, which its reader then ignores. */
  #endStream(events: string): boolean {
    if (!this.#isStream || this.#answer === undefined) return false
    const isWhole = this.#tail === undefined || EVENT_END.test(this.#tail.toString('latin1', this.#tail.length - 4))
    this.#answer.end(Buffer.from(`${isWhole ? '' : '\n\n'}${events}`))
    return true
  }

  #leave(): void {
    if (this.#isOver) return
    this.#request?.cancel()
    this.#outcome = {}
    this.#settle(undefined)
  }

  #settle(reply: HttpReply | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.owner.ended(this.#outcome, reply)
  }

  get #id(): RequestId | undefined {
    return idOf(messageIn(this.#options.body))
  }
}

/** The message in a body; undefined if it cannot be parsed. */
export function messageIn(body: Buffer): unknown {
  return parseJson(body.toString(), body.length)
}

/** The error response to the request with this body, which is parsed only now. */
export function errorTo(body: Buffer, error: BackendError): string {
  const message = messageIn(body)
  const params = isObject(message) && isObject(message['params']) ? message['params'] : {}
  return errorMessage(idOf(message), toWireError(inRound(error, isLaterRound({ params }))))
}

/** Whether an answer has neither a length nor chunks (RFC 9112, 6.3). */
function endsByClosing(headers: IncomingHttpHeaders): boolean {
  return headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
}

/**
 * The last message of an event stream that ends with its connection. Its events are parsed, because nothing else
 * distinguishes a complete stream from a truncated one: the response comes last.
 */
class LastMessage {
  readonly #decoder = new TextDecoder()
  readonly #events = new EventParser({ onEvent: ({ data }) => void (this.#data = data) })
  #data = ''

  add(chunk: Buffer): void {
    this.#events.feed(this.#decoder.decode(chunk, { stream: true }))
  }

  /** Whether it answers the request with this id. A notification needs no answer. */
  answers(id: RequestId | undefined): boolean {
    if (id === undefined) return true
    const message = parseJson(this.#data)
    return isObject(message) && message['id'] === id && ('result' in message || 'error' in message)
  }
}

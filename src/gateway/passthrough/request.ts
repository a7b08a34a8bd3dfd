/**
 * One request that is passed through: to a server behind the gateway as they came, and its answer back as it comes. Nothing of
 * them is parsed, unless something fails: then the id of the request is needed for the error that says so.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { eventBytes, type SizeCounter, totalBytes } from '../../client/internal.ts'
import { idOf, mediaTypeOf, META, parseJson, type RequestId } from '../../protocol/index.ts'
import {
  type ByteSink,
  errorMessage,
  type HostSink,
  type HttpReply,
  resultMessage,
  sseEvent,
  toWireError,
} from '../../server/internal.ts'
import { unanswered } from '../upstreams/answer.ts'
import type { AnswerReceiver, UpstreamRequest } from '../upstreams/request.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { BackendError, credentialsRefused, NO_MESSAGE, notInTime, tooLarge } from '../errors.ts'
import type { LimitedRequest } from './deadlines.ts'
import { answerHeadersOf } from './headers.ts'
import { endsByClosing, LastMessage } from './lastMessage.ts'

export interface PassthroughRequestOptions {
  readonly server: string
  readonly upstreams: Upstreams
  readonly headers: string[]
  readonly body: Buffer
  readonly sink: HostSink
  /** How long it may take, which somebody else looks at. */
  readonly timeoutMs: number
  readonly maxResultBytes: number
  readonly owner: PassthroughOwner
}

export interface PassthroughOwner {
  /** Told once, when it is over. `reply` is the answer, where it did not go by the sink. */
  ended(outcome: PassthroughOutcome, reply: HttpReply | undefined): void
}

/** How it ended. Without an error or a status the caller has left. */
export interface PassthroughOutcome {
  readonly status?: number | undefined
  readonly error?: BackendError
}

/** A web-standard response has no higher one. */
const MAX_STATUS = 599
const EVENT_END = /(?:\n\n|\r\r|\r\n\r\n)$/

export class PassthroughRequest implements AnswerReceiver, LimitedRequest {
  readonly #options: PassthroughRequestOptions
  queued: LimitedRequest['queued']
  #request: UpstreamRequest | undefined
  #answer: ByteSink | undefined
  #isStream = false
  /** Whether its type is one of MCP's. An answer of another type has to be empty. */
  #isMessage = false
  #hasWritten = false
  #hasEnded = false
  #sizeWith: SizeCounter | undefined
  /** How many bytes are to come; NaN where that is not known. */
  #left = Number.NaN
  /** The last bytes of a stream that were written. */
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

  /** Ends a stream of the caller, with the result that it ends with. */
  close(): void {
    const id = this.#id
    if (this.#isOver || id === undefined) return this.#leave()
    const result = JSON.stringify({ resultType: 'complete', _meta: { [META.subscription]: id } })
    this.#request?.cancel()
    this.#endWith(resultMessage(id, result))
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
      return answer.end(chunk) // the usual answer: all of it in one piece
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

  /** Why an answer is none of MCP, or is not for the caller. */
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
    return Number(headers['content-length'] ?? 0) > maxResultBytes ? this.#tooLarge() : undefined
  }

  #noMessage(): BackendError {
    return new BackendError('BACKEND_INVALID', this.#options.server, NO_MESSAGE)
  }

  #tooLarge(): BackendError {
    const { server, maxResultBytes } = this.#options
    return new BackendError('BACKEND_INVALID', server, tooLarge(maxResultBytes))
  }

  /** The caller gets the error, as far as there is still a way. */
  #fail(error: BackendError): void {
    if (this.#isOver) return
    this.#request?.cancel()
    this.#outcome = { ...this.#outcome, error }
    this.#endWith(errorMessage(this.#id, toWireError(error)))
  }

  /** Sends a last message: as the whole answer where nothing was sent yet, or in the stream. Else the answer breaks off. */
  #endWith(message: string): void {
    if (this.#answer === undefined || !(this.#hasWritten || this.#isStream))
      return this.#settle({ status: 200, body: message })
    if (!this.#endStream(message)) this.#answer.abort()
    this.#settle(undefined)
  }

  /** Sends a last event. One that was cut off is closed before, and is no message to its reader. */
  #endStream(message: string): boolean {
    if (!this.#isStream || this.#answer === undefined) return false
    const isWhole = this.#tail === undefined || EVENT_END.test(this.#tail.toString('latin1', this.#tail.length - 4))
    this.#answer.end(Buffer.from(`${isWhole ? '' : '\n\n'}${sseEvent(message)}`))
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
    return idOf(parseJson(this.#options.body.toString()))
  }
}

/**
 * Every request comes to an end. How long a server may be silent is said here: each request has its own time, which
 * begins again with its progress and stands still while the server waits for an answer of ours. People's time is not the
 * server's: under `rounds` each round is a request of its own, so nobody is hurried over a form. And where a request's
 * stream ends, or it cannot be sent, it fails at once.
 */
import { CODES, hasEnvelope, type RequestId } from '../../protocol/index.ts'
import { createLayer, type LayerContext, type LayerHandlers } from './layer.ts'
import { answerIn, sendFailure } from '../failureReason.ts'
import { IdleTimers, type Idling } from './idleTimers.ts'
import { timerMs } from '../timerMs.ts'
import { hasProcess, type Layer, type SendOptions, type WireMessage } from './transport.ts'
import {
  cancelledId,
  envelopeIn,
  errorMessage,
  idKey,
  isResponse,
  isRequest,
  isRequestId,
  metaIn,
  paramsOf,
  requestSignalIn,
  type WireRequest,
} from './message.ts'

export interface DeadlineOptions {
  /** How the other side ended, as the rest of a sentence, where that is known. */
  ended?: () => string | undefined
  /** Whether this side is about to end the connection, so that what ends now is not lost. @default it never is */
  isLeaving?: () => boolean
}

/** A request with `silenceMs` of silence ends with the code REQUEST_TIMED_OUT, and is cancelled on the server. */
export function deadline(silenceMs: number, options: DeadlineOptions = {}): Layer {
  const ms = timerMs(silenceMs, 'A deadline')
  return (transport) => createLayer(transport, (ends) => new Deadline(ends, ms, !hasProcess(transport), options))
}

interface Waiting extends Idling {
  readonly request: WireRequest
  readonly abort: AbortController | undefined
  /** Whether to end the request's own stream is how it is cancelled. */
  readonly hasStream: boolean
}

/** A subscription is silent by nature; how long connecting may take is for the client to say. */
const TIMELESS: ReadonlySet<string> = new Set(['subscriptions/listen', 'initialize', 'server/discover'])

class Deadline implements LayerHandlers {
  readonly #ends: LayerContext
  readonly #silenceMs: number
  /** Whether requests may have streams of their own, which a process's have not. */
  readonly #hasStreams: boolean
  readonly #options: DeadlineOptions
  readonly #waiting: IdleTimers<Waiting>
  /** The server's own questions that we have not answered yet. */
  readonly #asked = new Set<RequestId>()
  /** The stateless revision has no questions of servers: nobody answers them, so nobody waits for that. */
  #isModern = false

  constructor(ends: LayerContext, silenceMs: number, hasStreams: boolean, options: DeadlineOptions) {
    this.#ends = ends
    this.#silenceMs = silenceMs
    this.#hasStreams = hasStreams
    this.#options = options
    this.#waiting = new IdleTimers(silenceMs, (one) => (this.#asked.size > 0 ? this.#beginAgain() : this.#giveUp(one)))
  }

  send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    if (isRequest(message)) return this.#request(message, options)
    if (isResponse(message) && this.#asked.delete(idKey(message.id))) this.#beginAgain()
    const cancelled = cancelledId(message)
    if (cancelled !== undefined) this.#forget(cancelled)
    return this.#ends.send(message, options)
  }

  receive(message: WireMessage, extra: unknown): void {
    if (isResponse(message)) this.#forget(message.id)
    else if (isRequest(message)) this.#heard(message)
    else if (message.method === 'notifications/progress') this.#progressed(paramsOf(message)['progressToken'])
    else this.#tookBack(cancelledId(message))
    this.#ends.deliver(message, extra)
  }

  closed(isLost: boolean): void {
    const lost = isLost ? [...this.#waiting.all] : []
    this.#waiting.endAll()
    this.#asked.clear()
    for (const { request } of lost) this.#lost(request.id)
  }

  #request(message: WireRequest, options: SendOptions | undefined): Promise<void> {
    this.#isModern = hasEnvelope(paramsOf(message))
    if (TIMELESS.has(message.method)) return this.#ends.send(message, options)
    // Its caller may have given it up while a layer above waited for something.
    const given = requestSignalIn(options)
    if (given?.aborted) return Promise.reject(given.reason as Error)
    const sent = this.#ends.send(message, this.#begin(message, options))
    return sent.catch((error: unknown) => this.#unsent(message.id, error))
  }

  #unsent(id: RequestId, error: unknown): void {
    // What was given up here has had its answer.
    if (!this.#forget(id)) return
    const answer = answerIn(error, id)
    if (answer === undefined) throw sendFailure(error)
    this.#ends.deliver(answer)
  }

  /** What the request is to be sent with, so that it can be given up. */
  #begin(request: WireRequest, options: SendOptions | undefined): SendOptions | undefined {
    const { id } = request
    const given = requestSignalIn(options)
    const hasStream = given !== undefined
    const abort = this.#hasStreams ? new AbortController() : undefined
    this.#waiting.begin(idKey(id), { request, abort, hasStream, activeAt: performance.now() })
    if (given !== undefined) {
      const cancel = (): void => {
        this.#forget(id)
        abort?.abort(given.reason)
      }
      given.addEventListener('abort', cancel, { once: true })
    }
    if (abort === undefined) return options
    return { ...options, requestSignal: abort.signal, onRequestStreamEnd: () => this.#streamEnded(id, options) }
  }

  /** Servers send pings all the time, and wait for nobody with them. */
  #heard({ id, method }: WireRequest): void {
    if (!this.#isModern && method !== 'ping') this.#asked.add(idKey(id))
  }

  #tookBack(id: RequestId | undefined): void {
    if (id !== undefined && this.#asked.delete(idKey(id))) this.#beginAgain()
  }

  #beginAgain(): void {
    for (const waiting of this.#waiting.all) waiting.activeAt = performance.now()
  }

  #progressed(token: unknown): void {
    if (!isRequestId(token)) return
    for (const waiting of this.#waiting.all) {
      const own = metaIn(paramsOf(waiting.request))['progressToken']
      if (isRequestId(own) && idKey(own) === idKey(token)) waiting.activeAt = performance.now()
    }
  }

  #giveUp({ request, abort, hasStream }: Waiting): void {
    this.#forget(request.id)
    const reason = `The server was silent for ${this.#silenceMs / 1000} s.`
    this.#ends.deliver(errorMessage(request.id, CODES.INTERNAL_ERROR, reason, { code: 'REQUEST_TIMED_OUT' }))
    abort?.abort()
    if (!hasStream) this.#ends.send(cancellation(request, reason)).catch(() => undefined)
  }

  /** Its answer can come by its stream alone. The server may have done what was asked. */
  #streamEnded(id: RequestId, options: SendOptions | undefined): void {
    const { onRequestStreamEnd } = options ?? {}
    if (typeof onRequestStreamEnd === 'function') Reflect.apply(onRequestStreamEnd, undefined, [])
    if (this.#forget(id)) this.#lost(id)
  }

  #lost(id: RequestId): void {
    if (this.#options.isLeaving?.()) return
    const how = this.#options.ended?.()
    const sentence =
      how === undefined
        ? 'The connection ended before the answer came; the request may have had effects.'
        : `The server gave no answer: ${how} The request may have had effects.`
    this.#ends.deliver(errorMessage(id, CODES.INTERNAL_ERROR, sentence, { code: 'STREAM_ENDED' }))
  }

  #forget(id: RequestId): boolean {
    return this.#waiting.end(idKey(id))
  }
}

/** In the stateless revision a notification says who sends it, as its request did. */
function cancellation(request: WireRequest, reason: string): WireMessage {
  const envelope = envelopeIn(paramsOf(request))
  const meta = envelope !== undefined && { _meta: envelope }
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: request.id, reason, ...meta } }
}

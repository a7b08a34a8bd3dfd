/**
 * An idle timeout for each request, so that every request ends. The timeout starts again with each progress notification
 * of the request, and is paused while the server waits for an answer from this side. The time that people take does not
 * count: `rounds`, a layer above, sends each round as a request of its own. A request whose stream ends, or that cannot
 * be sent, fails at once.
 */
import {
  assertOptionNames,
  CODES,
  hasEnvelope,
  type OptionNames,
  type RequestId,
  timerMs,
} from '../../protocol/index.ts'
import { createLayer, type LayerContext, type LayerHandlers } from './layer.ts'
import { responseIn, sendFailure } from '../failureReason.ts'
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

/** How long a server may be silent by default, in milliseconds. */
export const IDLE_MS = 60_000

export interface DeadlineOptions {
  /** How the server ended, as the end of a sentence; undefined if unknown. */
  ended?: () => string | undefined
  /** Whether the client is closing the connection; then requests do not fail as lost. @default it never is */
  isLeaving?: () => boolean
}

const DEADLINE_OPTIONS: OptionNames<DeadlineOptions> = { ended: true, isLeaving: true }

/** A request of which nothing came for `idleMs` fails with REQUEST_TIMED_OUT, and is cancelled on the server. */
export function deadline(idleMs: number, options: DeadlineOptions = {}): Layer {
  assertOptionNames(options, DEADLINE_OPTIONS, 'deadline()')
  const ms = timerMs(idleMs, 'A deadline')
  return (transport) => createLayer(transport, (context) => new Deadline(context, ms, !hasProcess(transport), options))
}

interface TimedRequest {
  readonly request: WireRequest
  readonly abort: AbortController | undefined
  /** Whether the request has its own stream and is cancelled by closing it. */
  readonly hasStream: boolean
  readonly timer: NodeJS.Timeout
}

/** A subscription may be idle for any time. The client itself limits how long connecting takes. */
const UNLIMITED: ReadonlySet<string> = new Set(['subscriptions/listen', 'initialize', 'server/discover'])

class Deadline implements LayerHandlers {
  readonly #context: LayerContext
  readonly #idleMs: number
  /** Whether requests may have their own streams. Requests to a process have no stream. */
  readonly #hasStreams: boolean
  readonly #options: DeadlineOptions
  readonly #pending = new Map<RequestId, TimedRequest>()
  /** The server's requests that have no response yet. */
  readonly #serverRequests = new Set<RequestId>()
  /** The stateless revision has no requests of servers. It gets no answer, and does not pause the timeout. */
  #isModern = false

  constructor(context: LayerContext, idleMs: number, hasStreams: boolean, options: DeadlineOptions) {
    this.#context = context
    this.#idleMs = idleMs
    this.#hasStreams = hasStreams
    this.#options = options
  }

  send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    if (isRequest(message)) return this.#request(message, options)
    if (isResponse(message) && this.#serverRequests.delete(idKey(message.id))) this.#restartAll()
    const cancelled = cancelledId(message)
    if (cancelled !== undefined) this.#end(cancelled)
    return this.#context.send(message, options)
  }

  receive(message: WireMessage, extra: unknown): void {
    if (isResponse(message)) this.#end(message.id)
    else if (isRequest(message)) this.#serverAsks(message)
    else if (message.method === 'notifications/progress') this.#restart(paramsOf(message)['progressToken'])
    else this.#serverCancels(cancelledId(message))
    this.#context.deliver(message, extra)
  }

  closed(isLost: boolean): void {
    const pending = [...this.#pending.values()]
    this.#serverRequests.clear()
    for (const { request } of pending) this.#end(request.id)
    if (isLost) for (const { request } of pending) this.#lost(request.id)
  }

  #request(message: WireRequest, options: SendOptions | undefined): Promise<void> {
    this.#isModern = hasEnvelope(paramsOf(message))
    if (UNLIMITED.has(message.method)) return this.#context.send(message, options)
    // It may have been cancelled while a layer above waited for something, such as the jar.
    const given = requestSignalIn(options)
    if (given?.aborted) return Promise.reject(given.reason as Error)
    const sent = this.#context.send(message, this.#begin(message, options))
    return sent.catch((error: unknown) => this.#unsent(message.id, error))
  }

  #unsent(id: RequestId, error: unknown): void {
    // A request that timed out was answered here, and sending it fails because it was aborted.
    if (!this.#end(id)) return
    const response = responseIn(error, id)
    if (response === undefined) throw sendFailure(error)
    this.#context.deliver(response)
  }

  /** Starts the timeout of a request, and gives the options to send it with, so that it can be aborted. */
  #begin(request: WireRequest, options: SendOptions | undefined): SendOptions | undefined {
    const { id } = request
    const given = requestSignalIn(options)
    const hasStream = given !== undefined
    const abort = this.#hasStreams ? new AbortController() : undefined
    this.#end(id)
    const timer = setTimeout(() => this.#idle(id), this.#idleMs)
    this.#pending.set(idKey(id), { request, abort, hasStream, timer })
    if (given !== undefined) {
      const cancel = (): void => {
        this.#end(id)
        abort?.abort(given.reason)
      }
      given.addEventListener('abort', cancel, { once: true })
    }
    if (abort === undefined) return options
    return { ...options, requestSignal: abort.signal, onRequestStreamEnd: () => this.#streamEnded(id, options) }
  }

  /** A ping does not pause timeouts: servers send it at any time, and need no person's answer. */
  #serverAsks({ id, method }: WireRequest): void {
    if (!this.#isModern && method !== 'ping') this.#serverRequests.add(idKey(id))
  }

  #serverCancels(id: RequestId | undefined): void {
    if (id !== undefined && this.#serverRequests.delete(idKey(id))) this.#restartAll()
  }

  #restartAll(): void {
    for (const { timer } of this.#pending.values()) timer.refresh()
  }

  #restart(token: unknown): void {
    if (!isRequestId(token)) return
    for (const { request, timer } of this.#pending.values()) {
      const own = metaIn(paramsOf(request))['progressToken']
      if (isRequestId(own) && idKey(own) === idKey(token)) timer.refresh()
    }
  }

  #idle(id: RequestId): void {
    const pending = this.#pending.get(idKey(id))
    if (this.#serverRequests.size > 0) this.#restartAll()
    else if (pending !== undefined) this.#timeOut(pending)
  }

  #timeOut({ request, abort, hasStream }: TimedRequest): void {
    this.#end(request.id)
    const reason = `The server was silent for ${this.#idleMs / 1000} s.`
    this.#context.deliver(errorMessage(request.id, CODES.INTERNAL_ERROR, reason, { code: 'REQUEST_TIMED_OUT' }))
    abort?.abort()
    if (!hasStream) this.#context.send(cancellation(request, reason)).catch(() => undefined)
  }

  /** The response can come only on this stream. The server may have done the work. */
  #streamEnded(id: RequestId, options: SendOptions | undefined): void {
    const { onRequestStreamEnd } = options ?? {}
    if (typeof onRequestStreamEnd === 'function') Reflect.apply(onRequestStreamEnd, undefined, [])
    if (this.#end(id)) this.#lost(id)
  }

  #lost(id: RequestId): void {
    if (this.#options.isLeaving?.()) return
    const how = this.#options.ended?.()
    const sentence =
      how === undefined
        ? 'The connection ended before the answer came; the request may have had effects.'
        : `The server gave no answer: ${how} The request may have had effects.`
    this.#context.deliver(errorMessage(id, CODES.INTERNAL_ERROR, sentence, { code: 'STREAM_ENDED' }))
  }

  #end(id: RequestId): boolean {
    clearTimeout(this.#pending.get(idKey(id))?.timer)
    return this.#pending.delete(idKey(id))
  }
}

/** In the stateless revision the notification has the envelope of its request. */
function cancellation(request: WireRequest, reason: string): WireMessage {
  const envelope = envelopeIn(paramsOf(request))
  const meta = envelope !== undefined && { _meta: envelope }
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: request.id, reason, ...meta } }
}

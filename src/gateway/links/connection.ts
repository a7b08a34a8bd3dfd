/**
 * A JSON-RPC connection to a server, over any transport of the SDK. It has its own ids and progress tokens, so that
 * those of different callers never collide.
 */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import {
  type Era,
  isId,
  isMessage,
  isObject,
  type Json,
  OpenRequests,
  ProtocolError,
  readMessage,
  RemoteError,
  remoteErrorIn,
  type RequestId,
  unref,
} from '../../protocol/index.ts'
import { clientCode, failureReason } from '../../client/index.ts'
import { MessageOverLimit, responseIn, ServerUnreadable } from '../../client/internal.ts'
import {
  type BackendCode,
  BackendError,
  credentialsRefused,
  isNotThere,
  NO_MESSAGE,
  overLimit,
  resultOf,
  SessionForgotten,
  unreadable,
  wrongPath,
} from '../errors.ts'
import type { LinkOptions, MessageInfo } from './link.ts'
import { SessionLost } from './lostSession.ts'
import { paramsFor, type Relayed } from './relayed.ts'
import { answerTo, likelyCall, type OpenCalls, ServerRequests } from './serverQuestions.ts'
import { WaitingRequest } from './waitingRequest.ts'

export interface BackendConnectionOptions
  extends Pick<LinkOptions, 'server' | 'timeoutMs' | 'callers' | 'onNotification' | 'onClosed'> {
  readonly transport: Transport
  /** Request ids start above this. @default 0 */
  readonly firstId?: number
}

export class BackendConnection {
  readonly #options: BackendConnectionOptions
  readonly #underWay = new OpenRequests<WaitingRequest>()
  /** Time until which the server may still work on a cancelled request, by `performance.now()`. */
  #leftoversUntil = 0
  readonly #asked: ServerRequests
  /** The era of the server, as far as known. */
  era: Era = 'modern'
  #lastId: number
  #closed: string | undefined
  #onIdle: (() => void) | undefined

  constructor(options: BackendConnectionOptions) {
    this.#options = options
    const { transport, firstId = 0 } = options
    this.#lastId = firstId
    this.#asked = new ServerRequests({
      send: (message) => transport.send(message),
      onTooMany: (why) => {
        this.#close(why)
        transport.close().catch(() => {}) // requests in flight there end with it
      },
    })
    transport.onmessage = (message: JSONRPCMessage, info?: MessageInfo) => {
      try {
        this.#receive(message, info?.relatedRequestId)
      } catch {
        // A message that cannot be delivered is dropped.
      }
    }
    transport.onerror = (error) => {
      if (error instanceof ServerUnreadable) this.#close('sends what cannot be read', unreadable(options.server, error))
    }
    transport.onclose = () => this.#close('has closed its connection')
  }

  /** The number of requests that wait for an answer. */
  get inFlight(): number {
    return this.#underWay.size
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  get hasLeftovers(): boolean {
    return performance.now() < this.#leftoversUntil
  }

  async whenIdle(): Promise<void> {
    if (this.#underWay.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }

  request(relayed: Relayed): Promise<Json> {
    const { server, transport, timeoutMs } = this.#options
    if (this.#closed !== undefined)
      return Promise.reject(new BackendError('BACKEND_LOST', server, `${this.#closed}. Call again.`))
    const id = ++this.#lastId
    let hasLeft = false
    relayed.onCancel(() => {
      hasLeft = true
      this.#cancel(id, 'BACKEND_LOST', 'was notified that the caller has left.')
    })
    if (hasLeft)
      return Promise.reject(new BackendError('BACKEND_LOST', server, 'was not sent the call: the caller has left.'))
    const { params, progressToken } = withOwnToken(paramsFor(this.era, relayed), id)
    const waiting = new WaitingRequest({
      relayed,
      progressToken,
      timeoutMs,
      onLate: () =>
        this.#cancel(id, 'BACKEND_TIMEOUT', `has not answered within ${timeoutMs / 1000} seconds; ${CANCELLED}`),
      onSettled: () => this.#leave(id),
    })
    this.#underWay.set(id, waiting)
    const message = { jsonrpc: '2.0', id, method: relayed.method, params } as JSONRPCMessage
    // Some servers send the response on another stream; otherwise it never comes.
    const onRequestStreamEnd = (): void =>
      void unref(setTimeout(() => waiting.fail(cutOff(server, CUT)), LATE_RESPONSE_MS))
    transport
      .send(message, { onRequestStreamEnd })
      .catch((cause: unknown) => waiting.settle(() => unsent(server, id, cause)))
    return waiting.response
  }

  notify(method: string, params?: Json): void {
    const message = { jsonrpc: '2.0', method, ...(params !== undefined && { params }) } as JSONRPCMessage
    this.#options.transport.send(message).catch(() => {}) // the requests of a broken connection fail by themselves
  }

  async close(): Promise<void> {
    this.#close('was disconnected')
    await this.#options.transport.close()
  }

  #cancel(id: number, reason: BackendCode, sentence: string): void {
    const waiting = this.#underWay.get(id)
    if (waiting === undefined) return
    this.notify('notifications/cancelled', { requestId: id, reason })
    this.#leftoversUntil = performance.now() + this.#options.timeoutMs
    waiting.fail(new BackendError(reason, this.#options.server, sentence))
  }

  #leave(id: number): void {
    this.#underWay.delete(id)
    if (this.#underWay.size === 0) this.#onIdle?.()
  }

  #close(why: string, error = cutOff(this.#options.server, why)): void {
    if (this.#closed !== undefined) return
    this.#closed = why
    for (const waiting of this.#underWay.values()) waiting.fail(error)
    this.#options.onClosed(why)
  }

  /** `on`: the request on whose stream it came, if the transport knows. */
  #receive(value: unknown, on: RequestId | undefined): void {
    if (!isMessage(value)) return this.#misread(value)
    const message = readMessage(value)
    const related = on === undefined ? undefined : this.#underWay.get(on)
    switch (message.kind) {
      case 'response':
        return this.#underWay.get(message.id)?.settle(() => this.#resultOf(value as Json))
      case 'notification':
        return this.#notified(message.method, message.params, related)
      case 'request':
        void this.#asked.answer(message.id, () =>
          answerTo(message.method, message.params, () => this.#openCalls(related)),
        )
    }
  }

  #resultOf(response: Json): Json {
    const { result, error } = response
    if (isObject(result)) return result
    if (clientCode(error) !== undefined) throw overLimit(this.#options.server, error as Error)
    throw remoteErrorIn(error) ?? this.#invalid()
  }

  /** A malformed response fails its request, because no other response will come. */
  #misread(value: unknown): void {
    const { id, method } = isObject(value) ? value : {}
    if (isId(id) && method === undefined) this.#underWay.get(id)?.fail(this.#invalid())
  }

  #invalid(): BackendError {
    return new BackendError('BACKEND_INVALID', this.#options.server, `${NO_MESSAGE} ${EFFECTS}`)
  }

  #notified(method: string, params: Json, related: WaitingRequest | undefined): void {
    if (method === 'notifications/progress') return this.#progressed(params)
    if (method !== 'notifications/message') return this.#options.onNotification(method, params)
    // With several named callers the call of a notification is unknown: a call that is over here may still run at the
    // server.
    if (this.#options.callers !== 'all') likelyCall(this.#openCalls(related))?.relayed.notify(method, params)
  }

  #progressed(params: Json): void {
    const underWay = this.#underWay.get(params['progressToken'] as RequestId)
    if (underWay?.progressToken === undefined) return
    underWay.relayed.notify('notifications/progress', { ...params, progressToken: underWay.progressToken })
  }

  #openCalls(related: WaitingRequest | undefined): OpenCalls {
    const { callers } = this.#options
    return { waiting: [...this.#underWay.values()], callers, hasLeftovers: this.hasLeftovers, related }
  }
}

/** Replaces the caller's progress token by the id, which is unique on this connection. */
function withOwnToken(params: Json, id: number): { params: Json; progressToken: unknown } {
  const meta = params['_meta']
  const progressToken = isObject(meta) ? meta['progressToken'] : undefined
  if (progressToken === undefined || !isObject(meta)) return { params, progressToken: undefined }
  return { params: { ...params, _meta: { ...meta, progressToken: id } }, progressToken }
}

const CANCELLED = 'the call was cancelled there.'
const EFFECTS = 'What the call does may have happened.'
const CUT = 'has ended its stream'
const LATE_RESPONSE_MS = 500

function cutOff(server: string, why: string): BackendError {
  const sentence = `${why} before it answered. ${EFFECTS}`
  return new BackendError('BACKEND_LOST', server, sentence)
}

function unsent(server: string, id: number, cause: unknown): Json {
  if (cause instanceof SessionLost) throw new SessionForgotten(server, cause)
  if (cause instanceof RemoteError) throw cause
  const response = responseIn(cause, id)
  if (response !== undefined) return resultOf({ ...response })
  const { status, isUnauthorized, isPage, why = 'the connection is broken.' } = failureReason(cause)
  if (isUnauthorized) throw credentialsRefused(server, { cause })
  const invalid = (sentence: string) => new BackendError('BACKEND_INVALID', server, sentence, { cause })
  if (isPage) throw invalid(NO_MESSAGE)
  if (cause instanceof MessageOverLimit) throw overLimit(server, cause)
  if (cause instanceof ProtocolError) throw invalid(`${NO_MESSAGE} ${EFFECTS}`)
  if (status !== undefined && isNotThere(status)) throw invalid(`answered ${wrongPath(status)}`)
  const reason = status === undefined ? why : `it answered HTTP ${status}.`
  const sentence = `gave no answer: ${reason} If it got the call, what that does may have happened.`
  throw new BackendError('BACKEND_LOST', server, sentence, { cause })
}

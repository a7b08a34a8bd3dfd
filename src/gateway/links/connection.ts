/**
 * A JSON-RPC connection to a server, over any transport of the SDK. Ids and progress tokens are its own, so that those of
 * different callers never meet.
 */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import {
  type Era,
  isObject,
  type Json,
  type Message,
  OpenRequests,
  ProtocolError,
  readMessage,
  type RequestId,
  unref,
} from '../../protocol/index.ts'
import { failureReason } from '../../client/index.ts'
import { responseIn } from '../../client/internal.ts'
import {
  type BackendCode,
  BackendError,
  credentialsRefused,
  isNotThere,
  NO_MESSAGE,
  SessionForgotten,
  wrongPath,
} from '../errors.ts'
import { resultOf } from '../response.ts'
import type { LinkOptions } from './link.ts'
import { SessionLost } from './lostSession.ts'
import { paramsFor, type Relayed } from './relayed.ts'
import { answerTo, likelyCall, type OpenCalls } from './serverQuestions.ts'
import { ServerRequests } from './serverRequests.ts'
import { WaitingRequest } from './waitingRequest.ts'

export interface BackendConnectionOptions
  extends Pick<LinkOptions, 'server' | 'timeoutMs' | 'callers' | 'onNotification' | 'onClosed'> {
  readonly transport: Transport
  /** Ids of requests are larger. @default 0 */
  readonly firstId?: number
}

export class BackendConnection {
  readonly #options: BackendConnectionOptions
  readonly #underWay = new OpenRequests<WaitingRequest>()
  /** Requests that were given up so short a time ago that the server may still work on them. */
  readonly #givenUp = new Set<number>()
  /** What the server asks. */
  readonly #asked: ServerRequests
  /** What the server speaks, as far as is known. */
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
        transport.close().catch(() => {}) // what is under way there ends with it
      },
    })
    transport.onmessage = (message: JSONRPCMessage) => {
      try {
        this.#receive(message)
      } catch {
        // It cannot be passed on: it nests too deep to be written again.
      }
    }
    transport.onclose = () => this.#close('has closed its connection')
    transport.onerror = () => {} // lines and responses that are no messages; a request without an answer ends by its time
  }

  /** The number of requests that wait for an answer. */
  get inFlight(): number {
    return this.#underWay.size
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  get hasLeftovers(): boolean {
    return this.#givenUp.size > 0
  }

  /** Resolves when no request waits for an answer. */
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
      this.#cancel(id, 'BACKEND_LOST', 'was told that the caller has left.')
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
    // Some servers send the response on another stream; else it will not come any more.
    const onRequestStreamEnd = (): void =>
      void unref(setTimeout(() => waiting.settle(() => lost(server, CUT)), LATE_RESPONSE_MS))
    transport
      .send(message, { onRequestStreamEnd })
      .catch((cause: unknown) => waiting.settle(() => unsent(server, id, cause)))
    return waiting.response
  }

  notify(method: string, params?: Json): void {
    const message = { jsonrpc: '2.0', method, ...(params !== undefined && { params }) } as JSONRPCMessage
    this.#options.transport.send(message).catch(() => {}) // the requests of a connection that broke end by themselves
  }

  async close(): Promise<void> {
    this.#close('was disconnected')
    await this.#options.transport.close()
  }

  /** Gives a request up, and tells the server. */
  #cancel(id: number, reason: BackendCode, sentence: string): void {
    const waiting = this.#underWay.get(id)
    if (waiting === undefined) return
    this.notify('notifications/cancelled', { requestId: id, reason })
    this.#givenUp.add(id)
    unref(setTimeout(() => this.#givenUp.delete(id), this.#options.timeoutMs))
    waiting.fail(new BackendError(reason, this.#options.server, sentence))
  }

  #leave(id: number): void {
    this.#underWay.delete(id)
    if (this.#underWay.size === 0) this.#onIdle?.()
  }

  #close(why: string): void {
    if (this.#closed !== undefined) return
    this.#closed = why
    for (const waiting of this.#underWay.values()) waiting.settle(() => lost(this.#options.server, why))
    this.#options.onClosed(why)
  }

  #receive(value: unknown): void {
    const message = readable(value)
    if (message === undefined) return
    switch (message.kind) {
      case 'response':
        return this.#answered(message.id, value as Json)
      case 'notification':
        return this.#notified(message.method, message.params)
      case 'request':
        void this.#asked.answer(message.id, () => answerTo(message.method, message.params, () => this.#openCalls()))
    }
  }

  #answered(id: RequestId, response: Json): void {
    this.#underWay.get(id)?.settle(() => resultOf(response))
  }

  #notified(method: string, params: Json): void {
    if (method === 'notifications/progress') return this.#progressed(params)
    if (method !== 'notifications/message') return this.#options.onNotification(method, params)
    // Of several callers with names nobody knows whose it is: a call that is over here may still run there.
    if (this.#options.callers !== 'all') likelyCall(this.#openCalls())?.relayed.notify(method, params)
  }

  #progressed(params: Json): void {
    const underWay = this.#underWay.get(params['progressToken'] as RequestId)
    if (underWay?.progressToken === undefined) return
    underWay.relayed.notify('notifications/progress', { ...params, progressToken: underWay.progressToken })
  }

  #openCalls(): OpenCalls {
    const { callers } = this.#options
    return { waiting: [...this.#underWay.values()], callers, hasLeftovers: this.hasLeftovers }
  }
}

/** The progress token of the caller is replaced by the id, which is unique on this connection. */
function withOwnToken(params: Json, id: number): { params: Json; progressToken: unknown } {
  const meta = params['_meta']
  const progressToken = isObject(meta) ? meta['progressToken'] : undefined
  if (progressToken === undefined || !isObject(meta)) return { params, progressToken: undefined }
  return { params: { ...params, _meta: { ...meta, progressToken: id } }, progressToken }
}

function readable(value: unknown): Message | undefined {
  try {
    return readMessage(value)
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}

const CANCELLED = 'the call was cancelled there.'
const CUT = 'has ended its stream'
const LATE_RESPONSE_MS = 500

function lost(server: string, why: string): never {
  const sentence = `${why} before it answered. What the call does may have happened.`
  throw new BackendError('BACKEND_LOST', server, sentence)
}

function unsent(server: string, id: number, cause: unknown): Json {
  if (cause instanceof SessionLost) throw new SessionForgotten(server, cause)
  const response = responseIn(cause, id)
  if (response !== undefined) return resultOf({ ...response })
  const { status, isUnauthorized, isPage, why = 'the connection is broken.' } = failureReason(cause)
  if (isUnauthorized) throw credentialsRefused(server, { cause })
  const invalid = (sentence: string) => new BackendError('BACKEND_INVALID', server, sentence, { cause })
  if (isPage) throw invalid(NO_MESSAGE)
  if (cause instanceof ProtocolError) throw invalid(`${NO_MESSAGE} What the call does may have happened.`)
  if (status !== undefined && isNotThere(status)) throw invalid(`answered ${wrongPath(status)}`)
  const reason = status === undefined ? why : `it answered HTTP ${status}.`
  const sentence = `gave no answer: ${reason} If it got the call, what that does may have happened.`
  throw new BackendError('BACKEND_LOST', server, sentence, { cause })
}

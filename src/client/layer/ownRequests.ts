/**
 * Requests that the layer makes itself, beside those of its client: they go out under ids of their own, and their
 * answers go no further.
 */
import { CODES, isObject, type Json, type RequestId } from '../../protocol/index.ts'
import type { LayerContext } from './layer.ts'
import { ClientError, registeredCode } from '../errors.ts'
import type { SendOptions } from './transport.ts'
import {
  envelopeIn,
  isMinted,
  metaIn,
  mintId,
  paramsOf,
  requestSignalIn,
  type WireAnswer,
  type WireRequest,
} from './message.ts'

const OWN = '/task'

/** An id for a request of ours. It says so itself, so that late answers and notifications are known, too. */
export function ownId(): string {
  return `${mintId()}${OWN}`
}

export function isOwnId(id: unknown): boolean {
  return isMinted(id) && id.endsWith(OWN)
}

/** How a client sends, seen from one of its requests: what is made for the same caller is sent alike. */
export interface SenderProfile {
  /** What the request says about its sender; undefined in a session, which has said it. */
  readonly envelope: Json | undefined
  /** Whether to end a request's own stream is how it is cancelled. */
  readonly hasStream: boolean
}

export function senderProfileOf(request: WireRequest, options: SendOptions | undefined): SenderProfile {
  return { envelope: envelopeIn(paramsOf(request)), hasStream: requestSignalIn(options) !== undefined }
}

/** The server answered with an error. */
export class ServerFault extends Error {
  override readonly name = 'ServerFault'
  readonly code: number
  readonly data: unknown

  constructor({ code, message, data }: Json) {
    super(typeof message === 'string' ? message : 'The server gave no reason.')
    this.code = typeof code === 'number' ? code : 0
    this.data = data
  }

  /** A layer below says that the server was silent. */
  get isTimeout(): boolean {
    return registeredCode(this.data) === 'REQUEST_TIMED_OUT'
  }
}

interface Pending {
  answer(message: WireAnswer): void
  giveUp(): void
}

export class OwnRequests {
  readonly #ends: LayerContext
  readonly #pending = new Map<RequestId, Pending>()

  constructor(ends: LayerContext) {
    this.#ends = ends
  }

  /** The result; rejects with a `ServerFault`, with what the transport says, or with the signal's reason. */
  request(method: string, params: Json, sending: SenderProfile, signal: AbortSignal): Promise<Json> {
    if (signal.aborted) return Promise.reject(signal.reason as Error)
    const id = ownId()
    const { promise, resolve, reject } = Promise.withResolvers<Json>()
    const stream = new AbortController()
    const settle = (how: () => void): void => {
      signal.removeEventListener('abort', cancel)
      how()
    }
    const cancel = (): void => {
      this.#cancel(id, sending, stream)
      settle(() => reject(signal.reason as Error))
    }
    this.#pending.set(id, {
      answer: ({ result, error }) =>
        settle(() => (isObject(result) ? resolve(result) : reject(new ServerFault(isObject(error) ? error : {})))),
      giveUp: () => settle(() => reject(closed())),
    })
    signal.addEventListener('abort', cancel, { once: true })
    this.#ends
      .send(withEnvelope({ jsonrpc: '2.0', id, method, params }, sending), optionsFor(sending, stream))
      .catch((error: unknown) => {
        this.#pending.delete(id)
        settle(() => reject(error))
      })
    return promise
  }

  /** The answer to a request of ours; also to one that nobody waits for any more. */
  receive(message: WireAnswer): void {
    const pending = this.#pending.get(message.id)
    this.#pending.delete(message.id)
    pending?.answer(message)
  }

  /** Nothing comes any more. */
  rejectAll(): void {
    const all = [...this.#pending.values()]
    this.#pending.clear()
    for (const pending of all) pending.giveUp()
  }

  #cancel(id: string, sending: SenderProfile, stream: AbortController): void {
    this.#pending.delete(id)
    if (sending.hasStream) return stream.abort()
    const params = { requestId: id }
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
    this.#ends.send(withEnvelope(cancelled, sending)).catch(() => undefined)
  }
}

export function withEnvelope(message: Json, { envelope }: SenderProfile): Json {
  if (envelope === undefined) return message
  const params = paramsOf(message)
  return { ...message, params: { ...params, _meta: { ...metaIn(params), ...envelope } } }
}

export function optionsFor({ hasStream }: SenderProfile, stream: AbortController): SendOptions | undefined {
  return hasStream ? { requestSignal: stream.signal } : undefined
}

function closed(): ClientError {
  return new ClientError('TASK_UNREACHABLE', 'The connection was closed while a task was followed; it goes on.')
}

/** Whether what failed may go well when it is tried again. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ServerFault) return error.code === CODES.INTERNAL_ERROR && !error.isTimeout
  if (error instanceof ClientError) return error.code === 'STREAM_ENDED'
  const status = httpStatusOf(error)
  return status === undefined || status >= 500 || status === 408 || status === 429
}

/** The SDKs keep it in different places. */
export function httpStatusOf(error: unknown): number | undefined {
  if (!isObject(error)) return undefined
  const status = error['status'] ?? error['code']
  return typeof status === 'number' && status >= 400 && status < 600 ? status : undefined
}

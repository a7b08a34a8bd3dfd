/**
 * Requests that a layer sends itself, beside those of its client. They have ids of their own, and their responses are
 * not delivered to the client.
 */
import { CODES, isObject, type Json, type RequestId } from '../../protocol/index.ts'
import type { LayerContext } from './layer.ts'
import { ClientError, inputMisplaced, registeredCode } from '../errors.ts'
import type { SendOptions } from './transport.ts'
import {
  asksForInput,
  envelopeIn,
  isMinted,
  mintId,
  paramsOf,
  requestSignalIn,
  type WireResponse,
  type WireRequest,
  withMeta,
} from './message.ts'

const ID_SUFFIX = '/task'

/** An id for such a request. It can be recognised later, so late responses and notifications are not delivered either. */
function ownId(): string {
  return `${mintId()}${ID_SUFFIX}`
}

export function isOwnId(id: unknown): boolean {
  return isMinted(id) && id.endsWith(ID_SUFFIX)
}

/** How a client sends its requests. What a layer sends on behalf of a request is sent in the same way. */
export interface SenderProfile {
  /** The envelope of the client's requests; undefined in a session. */
  readonly envelope: Json | undefined
  /** Whether a request has its own stream and is cancelled by closing it. */
  readonly hasStream: boolean
}

export function senderProfileOf(request: WireRequest, options: SendOptions | undefined): SenderProfile {
  return { envelope: envelopeIn(paramsOf(request)), hasStream: requestSignalIn(options) !== undefined }
}

/** An error response of the server. */
export class ServerFault extends Error {
  override readonly name = 'ServerFault'
  readonly code: number
  readonly data: unknown

  constructor({ code, message, data }: Json) {
    super(typeof message === 'string' ? message : 'The server gave no reason.')
    this.code = typeof code === 'number' ? code : 0
    this.data = data
  }

  /** Whether `deadline`, a layer below, gave this response because the server did not respond in time. */
  get isTimeout(): boolean {
    return registeredCode(this.data) === 'REQUEST_TIMED_OUT'
  }
}

interface Pending {
  settle(message: WireResponse): void
  reject(): void
}

export class OwnRequests {
  readonly #context: LayerContext
  readonly #closedError: () => Error
  readonly #pending = new Map<RequestId, Pending>()

  constructor(context: LayerContext, closedError: () => Error) {
    this.#context = context
    this.#closedError = closedError
  }

  /** Gives the result. Rejects with a `ServerFault`, with the transport's error, or with the signal's reason. */
  request(method: string, params: Json, sender: SenderProfile, signal: AbortSignal): Promise<Json> {
    if (signal.aborted) return Promise.reject(signal.reason as Error)
    const id = ownId()
    const { promise, resolve, reject } = Promise.withResolvers<Json>()
    const stream = new AbortController()
    const finish = (how: () => void): void => {
      signal.removeEventListener('abort', cancel)
      how()
    }
    const cancel = (): void => {
      this.#cancel(id, sender, stream)
      finish(() => reject(signal.reason as Error))
    }
    this.#pending.set(id, {
      settle: ({ result, error }) =>
        finish(() => {
          if (!isObject(result)) return reject(new ServerFault(isObject(error) ? error : {}))
          return method !== 'tasks/result' && asksForInput(result) ? reject(inputMisplaced()) : resolve(result)
        }),
      reject: () => finish(() => reject(this.#closedError())),
    })
    signal.addEventListener('abort', cancel, { once: true })
    this.#context
      .send(withEnvelope({ jsonrpc: '2.0', id, method, params }, sender), optionsFor(sender, stream))
      .catch((error: unknown) => {
        this.#pending.delete(id)
        finish(() => reject(error))
      })
    return promise
  }

  /** Takes the response to a request of this layer. Ignores it where the request was cancelled. */
  receive(message: WireResponse): void {
    const pending = this.#pending.get(message.id)
    this.#pending.delete(message.id)
    pending?.settle(message)
  }

  /** Rejects what is pending, because the connection was closed. */
  rejectAll(): void {
    const all = [...this.#pending.values()]
    this.#pending.clear()
    for (const pending of all) pending.reject()
  }

  #cancel(id: string, sender: SenderProfile, stream: AbortController): void {
    this.#pending.delete(id)
    if (sender.hasStream) return stream.abort()
    const params = { requestId: id }
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
    this.#context.send(withEnvelope(cancelled, sender)).catch(() => undefined)
  }
}

function withEnvelope(message: Json, { envelope }: SenderProfile): Json {
  return envelope === undefined ? message : withMeta(message, envelope)
}

function optionsFor({ hasStream }: SenderProfile, stream: AbortController): SendOptions | undefined {
  return hasStream ? { requestSignal: stream.signal } : undefined
}

/** Whether the same request may succeed when it is sent again. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ServerFault) return error.code === CODES.INTERNAL_ERROR && !error.isTimeout
  if (error instanceof ClientError) return error.code === 'STREAM_ENDED'
  const status = httpStatusOf(error)
  return status === undefined || status >= 500 || status === 408 || status === 429
}

/** The HTTP status in an error. SDK versions 1 and 2 keep it in different members. */
export function httpStatusOf(error: unknown): number | undefined {
  if (!isObject(error)) return undefined
  const status = error['status'] ?? error['code']
  return typeof status === 'number' && status >= 400 && status < 600 ? status : undefined
}

/**
 * Requests of servers only inside a request of the client (SEP-2260). What comes while none is under way is refused, and
 * the client never sees it. A ping may always come.
 *
 * Which of several requests one belongs to, a transport does not tell. What comes on a stream that belongs to none is
 * seen by `scopeFetch`, one seam lower.
 */
import { CODES, hasEnvelope, type RequestId } from '../../protocol/index.ts'
import { createLayer, type LayerContext, type LayerHandlers } from '../layer/layer.ts'
import { ClientError } from '../errors.ts'
import { plainLine } from '../safeText.ts'
import type { Layer, SendOptions, WireMessage } from '../layer/transport.ts'
import {
  cancelledId,
  errorMessage,
  idKey,
  isResponse,
  isRequest,
  paramsOf,
  type WireRequest,
} from '../layer/message.ts'

/** A request that was refused. */
export interface Refused {
  readonly method: string
  readonly id: RequestId
  /** Why, as a sentence for people. */
  readonly reason: string
}

export interface ScopeOptions {
  /** Hears of each request that was refused. @default the transport's `onerror` */
  onRefused?: (refused: Refused) => void
}

export function scope(options: ScopeOptions = {}): Layer {
  return (transport) => createLayer(transport, (ends) => new Scope(ends, options))
}

export function refusalOf({ id, method }: WireRequest): WireMessage {
  return errorMessage(
    id,
    CODES.INVALID_PARAMS,
    `"${method}" may be sent only while a request of the client is under way.`,
  )
}

class Scope implements LayerHandlers {
  readonly #ends: LayerContext
  readonly #onRefused: (refused: Refused) => void
  readonly #underWay = new Set<RequestId>()
  /** The stateless revision has no requests of servers at all, and clients must not answer any. */
  #isModern = false

  constructor(ends: LayerContext, { onRefused }: ScopeOptions) {
    this.#ends = ends
    this.#onRefused = onRefused ?? ((refused) => ends.report(unrelated(refused)))
  }

  send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    const cancelled = cancelledId(message)
    if (cancelled !== undefined) this.#underWay.delete(idKey(cancelled))
    if (!isRequest(message)) return this.#ends.send(message, options)
    this.#isModern = hasEnvelope(paramsOf(message))
    if (this.#isModern || message.method === 'initialize') return this.#ends.send(message, options)
    const key = idKey(message.id)
    this.#underWay.add(key)
    const sent = this.#ends.send(message, options)
    sent.catch(() => this.#underWay.delete(key))
    return sent
  }

  receive(message: WireMessage, extra: unknown): void {
    if (isResponse(message)) this.#underWay.delete(idKey(message.id))
    if (isRequest(message) && message.method !== 'ping' && this.#underWay.size === 0) this.#refuse(message)
    else this.#ends.deliver(message, extra)
  }

  closed(): void {
    this.#underWay.clear()
  }

  #refuse(message: WireRequest): void {
    const { method, id } = message
    const reason = this.#isModern
      ? 'The revision of this connection has no requests of servers.'
      : 'No request of the client was under way that it could belong to.'
    this.#onRefused({ method, id, reason })
    // The transport reports what it cannot send.
    if (!this.#isModern) this.#ends.send(refusalOf(message)).catch(() => undefined)
  }
}

function unrelated({ method, reason }: Refused): ClientError {
  return new ClientError('REQUEST_UNRELATED', `The server's request "${plainLine(method, 60)}" was refused. ${reason}`)
}

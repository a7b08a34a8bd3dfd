/**
 * A server may send requests only while a request of the client is under way (SEP-2260). Others are refused, and not
 * delivered to the client. A ping is always delivered.
 *
 * A transport does not tell to which of the client's requests a server's request belongs. `scopeFetch`, below the
 * transport, refuses requests on a stream without a request of the client.
 */
import { assertOptionNames, CODES, hasEnvelope, type OptionNames, type RequestId } from '../../protocol/index.ts'
import { createLayer, type LayerContext, type LayerHandlers } from '../layer/layer.ts'
import { ClientError } from '../errors.ts'
import { plainLine } from '../../questions/index.ts'
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
  /** Called with each request that was refused. @default the transport's `onerror` is called */
  onRefused?: (refused: Refused) => void
}

export const SCOPE_OPTIONS: OptionNames<ScopeOptions> = { onRefused: true }

/** A layer that refuses requests of a server while no request of the client is under way (SEP-2260). */
export function scope(options: ScopeOptions = {}): Layer {
  assertOptionNames(options, SCOPE_OPTIONS, 'scope()')
  return (transport) => createLayer(transport, (context) => new Scope(context, options))
}

/** The error response to a server's request that was refused. */
export function refusalOf({ id, method }: WireRequest): WireMessage {
  return errorMessage(
    id,
    CODES.INVALID_PARAMS,
    `"${method}" may be sent only while a request of the client is under way.`,
  )
}

class Scope implements LayerHandlers {
  readonly #context: LayerContext
  readonly #onRefused: (refused: Refused) => void
  readonly #underWay = new Set<RequestId>()
  /** The stateless revision has no requests of servers, and clients must not respond to any. */
  #isModern = false

  constructor(context: LayerContext, { onRefused }: ScopeOptions) {
    this.#context = context
    this.#onRefused = onRefused ?? ((refused) => context.report(unrelated(refused)))
  }

  send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    const cancelled = cancelledId(message)
    if (cancelled !== undefined) this.#underWay.delete(idKey(cancelled))
    if (!isRequest(message)) return this.#context.send(message, options)
    this.#isModern = hasEnvelope(paramsOf(message))
    if (this.#isModern || message.method === 'initialize') return this.#context.send(message, options)
    const key = idKey(message.id)
    this.#underWay.add(key)
    const sent = this.#context.send(message, options)
    sent.catch(() => this.#underWay.delete(key))
    return sent
  }

  receive(message: WireMessage, extra: unknown): void {
    if (isResponse(message)) this.#underWay.delete(idKey(message.id))
    if (isRequest(message) && message.method !== 'ping' && this.#underWay.size === 0) this.#refuse(message)
    else this.#context.deliver(message, extra)
  }

  closed(): void {
    this.#underWay.clear()
  }

  #refuse(message: WireRequest): void {
    const { method, id } = message
    const reason = this.#isModern
      ? 'In the protocol revision of this connection servers have no requests.'
      : 'No request of the client was under way that it could belong to.'
    this.#onRefused({ method, id, reason })
    // The transport itself reports a message that it cannot send.
    if (!this.#isModern) this.#context.send(refusalOf(message)).catch(() => undefined)
  }
}

function unrelated({ method, reason }: Refused): ClientError {
  return new ClientError('REQUEST_UNRELATED', `The server's request "${plainLine(method, 60)}" was refused. ${reason}`)
}

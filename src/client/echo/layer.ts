/**
 * State on the requests of session-era servers (SEP-1685), given back with the matching answer exactly as it came, and
 * never where none came. A server uses it for clients that say where it may stand:
 *
 * - beside the parameters (`top`): on the lines of a child process, which this layer reaches itself; over HTTP by
 *   `echoFetch`, given to the transport as its `fetch`;
 * - in `_meta`, where only this layer can be put: any other transport.
 */
import { ECHO_META_KEY, isObject, type RequestId } from '../../protocol/index.ts'
import { createLayer, type LayerContext, type LayerHandlers } from '../layer/layer.ts'
import { childLines, echoLines } from './lines.ts'
import { declaringEcho } from './states.ts'
import { hasProcess, type Layer, type SendOptions, type WireMessage } from '../layer/transport.ts'
import { cancelledId, isResponse, isRequest, metaIn, paramsOf } from '../layer/message.ts'

export function echo(): Layer {
  const onLines = { start: childLines(echoLines) }
  return (transport) => createLayer(transport, (ends) => (hasProcess(transport) ? onLines : new EchoInMeta(ends)))
}

const declare = declaringEcho('meta')

/** What a server may have us keep at once; the oldest go first. */
const MAX_STATES = 1_000

class EchoInMeta implements LayerHandlers {
  readonly #ends: LayerContext
  readonly #states = new Map<RequestId, unknown>()

  constructor(ends: LayerContext) {
    this.#ends = ends
  }

  send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    return this.#ends.send(isResponse(message) ? this.#withState(message) : declare(message), options)
  }

  receive(message: WireMessage, extra: unknown): void {
    const ended = cancelledId(message)
    if (ended !== undefined) this.#states.delete(ended)
    if (isRequest(message)) this.#take(message.id, metaIn(paramsOf(message))[ECHO_META_KEY])
    this.#ends.deliver(message, extra)
  }

  closed(): void {
    this.#states.clear()
  }

  #take(id: RequestId, state: unknown): void {
    this.#states.delete(id)
    if (state === undefined) return
    this.#states.set(id, state)
    const [oldest] = this.#states.keys()
    if (this.#states.size > MAX_STATES && oldest !== undefined) this.#states.delete(oldest)
  }

  /** An error has no place for it: its server goes on as it does for clients that echo nothing. */
  #withState(message: WireMessage & { readonly id: RequestId }): WireMessage {
    const state = this.#states.get(message.id)
    this.#states.delete(message.id)
    const { result } = message
    if (state === undefined || !isObject(result)) return message
    return { ...message, result: { ...result, _meta: { ...metaIn(result), [ECHO_META_KEY]: state } } }
  }
}

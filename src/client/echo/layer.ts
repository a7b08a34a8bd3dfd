/**
 * State on the requests of session-era servers (SEP-1685). The matching response has it exactly as it came; a response
 * to a request without state has none. Servers use it only with clients that declare where it may stand:
 *
 * - beside `params` and `result` (`top`): on the lines of a child process, which this layer reaches itself; over HTTP by
 *   `echoFetch`, given to the transport as its `fetch`;
 * - in `_meta`: with any other transport, where only a layer can be added.
 */
import { ECHO_META_KEY, isObject, type RequestId } from '../../protocol/index.ts'
import { createLayer, type LayerContext, type LayerHandlers } from '../layer/layer.ts'
import { childLines, echoLines } from './lines.ts'
import { declaringEcho, MAX_STATES } from './states.ts'
import { hasProcess, type Layer, type SendOptions, type WireMessage } from '../layer/transport.ts'
import { cancelledId, isResponse, isRequest, metaIn, paramsOf } from '../layer/message.ts'

export function echo(): Layer {
  const onLines = { start: childLines(echoLines) }
  return (transport) => createLayer(transport, (context) => (hasProcess(transport) ? onLines : new EchoInMeta(context)))
}

const declare = declaringEcho('meta')

class EchoInMeta implements LayerHandlers {
  readonly #context: LayerContext
  readonly #states = new Map<RequestId, unknown>()

  constructor(context: LayerContext) {
    this.#context = context
  }

  send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    return this.#context.send(isResponse(message) ? this.#withState(message) : declare(message), options)
  }

  receive(message: WireMessage, extra: unknown): void {
    const cancelled = cancelledId(message)
    if (cancelled !== undefined) this.#states.delete(cancelled)
    if (isRequest(message)) this.#keep(message.id, metaIn(paramsOf(message))[ECHO_META_KEY])
    this.#context.deliver(message, extra)
  }

  closed(): void {
    this.#states.clear()
  }

  #keep(id: RequestId, state: unknown): void {
    this.#states.delete(id)
    if (state === undefined) return
    this.#states.set(id, state)
    const [oldest] = this.#states.keys()
    if (this.#states.size > MAX_STATES && oldest !== undefined) this.#states.delete(oldest)
  }

  /** An error response has no `_meta`. The server then does what it does for clients without state. */
  #withState(message: WireMessage & { readonly id: RequestId }): WireMessage {
    const state = this.#states.get(message.id)
    this.#states.delete(message.id)
    const { result } = message
    if (state === undefined || !isObject(result)) return message
    return { ...message, result: { ...result, _meta: { ...metaIn(result), [ECHO_META_KEY]: state } } }
  }
}

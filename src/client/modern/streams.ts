/** The long answers of `subscriptions/listen` that a layer holds open for its client. */
import type { Json, RequestId } from '../../protocol/index.ts'
import type { LayerContext } from '../layer/layer.ts'
import type { WireMessage } from '../layer/transport.ts'
import { errorMessage, INTERNAL_ERROR } from '../layer/message.ts'

export class ModernStreams {
  readonly #ends: LayerContext
  /** Hears of one that ended by itself, as of an answer. */
  readonly #onEnd: (message: WireMessage) => void
  readonly #open = new Map<string, AbortController>()

  constructor(ends: LayerContext, onEnd: (message: WireMessage) => void) {
    this.#ends = ends
    this.#onEnd = onEnd
  }

  open(id: string, params: Json): void {
    const abort = new AbortController()
    this.#open.set(id, abort)
    const onRequestStreamEnd = (): void => {
      if (this.#open.has(id)) this.#onEnd(errorMessage(id, INTERNAL_ERROR, 'Ended.', { code: 'STREAM_ENDED' }))
    }
    this.#ends
      .send(
        { jsonrpc: '2.0', id, method: 'subscriptions/listen', params },
        { requestSignal: abort.signal, onRequestStreamEnd },
      )
      .catch(onRequestStreamEnd)
  }

  /** Its answer has come; that its stream ends now is no news. */
  answered(id: RequestId): void {
    this.#open.delete(String(id))
  }

  /** Where each request has a stream, its end is the sign; elsewhere it takes a word. */
  close(id: string): void {
    this.#open.get(id)?.abort()
    this.#open.delete(id)
    const params = { requestId: id }
    this.#ends.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch(() => undefined)
  }

  /** The connection is over: nobody has to be told. */
  drop(): void {
    for (const abort of this.#open.values()) abort.abort()
    this.#open.clear()
  }
}

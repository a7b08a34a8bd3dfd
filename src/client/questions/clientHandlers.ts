/**
 * Questions for the client's own handlers. A session-era client that declared a kind itself can be asked it as its server
 * would have: by a request, which here comes from the layer.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json, type RequestId } from '../../protocol/index.ts'
import type { LayerContext } from '../layer/layer.ts'
import { ClientError } from '../errors.ts'
import type { WireAnswer } from '../layer/message.ts'
import { mintId } from '../layer/message.ts'

export class ClientQuestions {
  readonly #ends: LayerContext
  readonly #waiting = new Map<RequestId, (answer: WireAnswer) => void>()

  constructor(ends: LayerContext) {
    this.#ends = ends
  }

  ask({ method, params }: InputRequest, signal: AbortSignal): Promise<Json> {
    const id = mintId()
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        this.#waiting.delete(id)
        this.#ends.deliver({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
        reject(new ClientError('ANSWER_FAILED', 'The question was taken back before the client had answered.'))
      }
      this.#waiting.set(id, ({ result }) => {
        signal.removeEventListener('abort', cancel)
        if (isObject(result)) resolve(result)
        else reject(new ClientError('ANSWER_FAILED', "The client's own handler did not answer a question."))
      })
      signal.addEventListener('abort', cancel, { once: true })
      this.#ends.deliver({ jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) })
    })
  }

  /** Whether the message answers a question of ours; the server must not see it then. */
  take(message: WireAnswer): boolean {
    const settle = this.#waiting.get(message.id)
    if (settle === undefined) return false
    this.#waiting.delete(message.id)
    settle(message)
    return true
  }
}

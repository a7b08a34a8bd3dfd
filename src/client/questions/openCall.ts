/** A request of a caller, which stays open while a layer answers what the server asks. */
import { hasEnvelope, type Json, type RequestId } from '../../protocol/index.ts'
import { idKey, paramsOf, requestSignalIn, type WireRequest } from '../layer/message.ts'
import type { SendOptions } from '../layer/transport.ts'
import type { AskedCall } from './answerer.ts'

export abstract class OpenCall<Request extends WireRequest = WireRequest> {
  /** The request as the caller sent it. */
  readonly request: Request
  readonly params: Json
  readonly options: SendOptions | undefined
  /** The caller has its answer, or no longer wants one. */
  isOver = false
  #ended: AbortController | undefined

  constructor(request: Request, options: SendOptions | undefined) {
    this.request = request
    this.params = paramsOf(request)
    this.options = options
  }

  /** The facts about the call that answerers see. */
  abstract get about(): AskedCall

  get id(): RequestId {
    return this.request.id
  }

  /** The key by which the call is looked up. */
  get key(): RequestId {
    return idKey(this.id)
  }

  /** Whether the client speaks the stateless revision, and so can itself be asked by results. */
  get isModern(): boolean {
    return hasEnvelope(this.params)
  }

  /** Aborted when the call is over, in whatever way. */
  get signal(): AbortSignal {
    this.#ended ??= new AbortController()
    return this.#ended.signal
  }

  end(): void {
    this.isOver = true
    this.#ended?.abort()
  }

  /**
   * Calls `giveUp` when the caller's signal aborts, unless the call is over. Use it after the request is sent, because
   * before that the transport itself fails on an abort.
   */
  watchCaller(giveUp: () => void): void {
    const signal = requestSignalIn(this.options)
    const onAbort = (): void => {
      if (!this.isOver) giveUp()
    }
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
  }
}

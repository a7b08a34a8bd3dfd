/** Questions that a session-era server pushes as requests, answered by the answerers that were declared to it. */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Json, RequestId } from '../protocol/index.ts'
import type { Ask } from './answering.ts'
import type { Ends } from './around.ts'
import type { WireRequest } from './wireMessage.ts'
import { errorMessage, resultMessage } from './wireMessage.ts'

/** JSON-RPC leaves this number to applications; the session revisions show it for a refusal. */
const REFUSED = -1

export class PushedQuestions {
  readonly #ends: Ends
  readonly #ask: Ask
  readonly #running = new Map<RequestId, AbortController>()

  constructor(ends: Ends, ask: Ask) {
    this.#ends = ends
    this.#ask = ask
  }

  async answer({ id }: WireRequest, request: InputRequest): Promise<void> {
    const running = new AbortController()
    this.#running.set(id, running)
    const reply = await this.#reply(id, request, running.signal)
    if (running.signal.aborted) return
    this.#running.delete(id)
    // The transport reports what it cannot send.
    await this.#ends.send(reply).catch(() => undefined)
  }

  /** The server takes a question back. */
  cancel(id: RequestId): boolean {
    const running = this.#running.get(id)
    this.#running.delete(id)
    running?.abort()
    return running !== undefined
  }

  cancelAll(): void {
    for (const id of this.#running.keys()) this.cancel(id)
  }

  async #reply(id: RequestId, request: InputRequest, signal: AbortSignal): Promise<Json> {
    try {
      return resultMessage(id, await this.#ask({ key: String(id), request, signal }))
    } catch (error) {
      // Why is for the host. A suspended question is one of these: its server holds the call open and cannot wait.
      if (!signal.aborted) this.#ends.report(error instanceof Error ? error : new Error(String(error)))
      return errorMessage(id, REFUSED, 'The client did not answer.')
    }
  }
}

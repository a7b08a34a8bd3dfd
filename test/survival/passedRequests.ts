/** Which process the balancer sent each call to, and the notification that cancels it. */
import type { Passed } from './verdict.ts'

interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: { readonly arguments?: { readonly call?: string }; readonly requestId?: string | number }
}

export class PassedRequests {
  readonly #passed = new Map<string, { call: number[]; cancellation: number[] }>()
  /** The names of calls by session and request id. */
  readonly #names = new Map<string, string>()

  of(call: string): Passed {
    return this.#passed.get(call) ?? { call: [], cancellation: [] }
  }

  note(session: string | undefined, body: Buffer, pid: number): void {
    if (body.length === 0) return
    const { id, method, params } = JSON.parse(body.toString()) as Message
    if (method === 'tools/call') {
      const name = params?.arguments?.call ?? ''
      this.#names.set(`${session} ${id}`, name)
      const passed = this.#passed.get(name) ?? { call: [], cancellation: [] }
      this.#passed.set(name, passed)
      passed.call.push(pid)
    }
    if (method === 'notifications/cancelled') {
      const name = this.#names.get(`${session} ${params?.requestId}`) ?? ''
      this.#passed.get(name)?.cancellation.push(pid)
    }
  }
}

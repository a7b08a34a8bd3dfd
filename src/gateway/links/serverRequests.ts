/** Requests of a server, and the answers to them. Each answer may need a connection, so few are sent at once. */
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { CODES, type Json, RemoteError, type RequestId } from '../../protocol/index.ts'

/** Maximum number of unanswered requests before the server is disconnected. */
const MAX_OPEN = 1000
const SENT_AT_ONCE = 32

export interface ServerRequestsOptions {
  readonly send: (message: JSONRPCMessage) => Promise<void>
  /** The server has too many open requests. */
  readonly onTooMany: (why: string) => void
}

export class ServerRequests {
  readonly #options: ServerRequestsOptions
  /** Answers that wait for others to be sent. */
  readonly #ready: (() => void)[] = []
  #open = 0
  #sending = 0

  constructor(options: ServerRequestsOptions) {
    this.#options = options
  }

  /** Sends the answer, or an error. */
  async answer(id: RequestId, answered: () => Promise<Json>): Promise<void> {
    if (this.#open >= MAX_OPEN) return this.#options.onTooMany(`has more than ${MAX_OPEN} requests of its own open`)
    this.#open++
    const answer = await answered().then(
      (result) => ({ result }),
      (error: unknown) => ({ error: wireErrorOf(error) }),
    )
    await this.#sent({ jsonrpc: '2.0', id, ...answer } as JSONRPCMessage)
    this.#open--
  }

  async #sent(message: JSONRPCMessage): Promise<void> {
    if (this.#sending >= SENT_AT_ONCE) await new Promise<void>((resolve) => void this.#ready.push(resolve))
    else this.#sending++
    await this.#options.send(message).catch(() => {}) // a server that is gone needs no answer
    const next = this.#ready.shift()
    if (next === undefined) this.#sending--
    else next()
  }
}

function wireErrorOf(error: unknown): Json {
  if (!(error instanceof RemoteError)) return { code: CODES.INTERNAL_ERROR, message: 'The question was not answered.' }
  const { code, message, data } = error
  return { code, message, ...(data !== undefined && { data }) }
}

/** Requests to a server, with the operator's login if there is one. */
import type { FetchLike } from '@modelcontextprotocol/client'
import type { Authorizer } from '../../../client/index.ts'
import { authorizedFetch, headersOf, sameOrigin } from '../../../client/internal.ts'
import { GATEWAY_INFO } from '../../version.ts'
import { Exchange, type ExchangeRequest, type ExchangeTarget, type Reply } from './exchange.ts'

/** Some servers refuse clients without a user agent. Without `identity` a response may be compressed. */
export const OWN_HEADERS = {
  'user-agent': `${GATEWAY_INFO.name}/${GATEWAY_INFO.version}`,
  'accept-encoding': 'identity',
}

/** The requests of a login also go to other servers. */
const loginFetch = sameOrigin(fetch)

const CLOSED = 'The connection is closed.'

export class Requester {
  readonly #target: ExchangeTarget
  readonly #authorizer: Authorizer | undefined
  readonly #exchanges = new Set<Exchange>()
  /** Cancels logins. */
  #login: AbortController | undefined
  #isClosed = false

  constructor(target: ExchangeTarget, authorizer: Authorizer | undefined) {
    this.#target = target
    this.#authorizer = authorizer
  }

  request(request: ExchangeRequest): Promise<Reply> {
    return this.#authorizer === undefined ? this.#open(request) : this.#authorized(this.#authorizer, request)
  }

  /** Cancels all exchanges. */
  close(): void {
    this.#isClosed = true
    this.#login?.abort(new Error(CLOSED))
    for (const exchange of this.#exchanges) exchange.cancel()
  }

  #open(request: ExchangeRequest): Promise<Reply> {
    if (this.#isClosed) return Promise.reject(new Error(CLOSED))
    return new Exchange(this.#target, this.#exchanges).open(request)
  }

  /** Sends a request with a login. The login reads only the status and headers of a response, never its body. */
  async #authorized(authorizer: Authorizer, request: ExchangeRequest): Promise<Reply> {
    const { url = '' } = this.#target
    let reply: Reply | undefined
    const send: FetchLike = async (_, init) => {
      if (request.isCancelled?.()) throw new Error('The request was cancelled during a login.')
      reply = await this.#open({ ...request, headers: new Headers(init?.headers) })
      return new Response(null, { status: reply.status, headers: headersOf(plainHeaders(reply)) })
    }
    const { method } = request
    const headers = Object.fromEntries(request.headers)
    this.#login ??= new AbortController()
    const { signal } = this.#login
    await authorizedFetch(authorizer, url, send, loginFetch)(url, { method, headers, signal })
    if (reply === undefined) throw new Error('Nothing was sent.')
    return reply
  }
}

function plainHeaders({ headers }: Reply): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]))
}

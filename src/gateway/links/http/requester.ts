/** Requests to one address of a server, with the login of the gateway's operator where there is one. */
import type { FetchLike } from '@modelcontextprotocol/client'
import type { Authorizer } from '../../../client/index.ts'
import { authorizedFetch, boundedFetch, headersOf, sameOrigin } from '../../../client/internal.ts'
import type { Upstream } from '../../upstreams/upstreams.ts'
import { GATEWAY_INFO } from '../../version.ts'
import { Exchange, type ExchangeRequest, type Reply } from './exchange.ts'

/** Some servers refuse clients without a name. What is not asked for plainly may come compressed. */
export const OWN_HEADERS = {
  'user-agent': `${GATEWAY_INFO.name}/${GATEWAY_INFO.version}`,
  'accept-encoding': 'identity',
}

/** The requests of a login go to other servers, too. */
const loginFetch = boundedFetch(sameOrigin(fetch))

export class Requester {
  readonly #upstream: Upstream
  readonly #authorizer: Authorizer | undefined
  readonly #exchanges = new Set<Exchange>()
  readonly #closed = new AbortController()

  constructor(upstream: Upstream, authorizer: Authorizer | undefined) {
    this.#upstream = upstream
    this.#authorizer = authorizer
  }

  request(request: ExchangeRequest): Promise<Reply> {
    return this.#authorizer === undefined ? this.#open(request) : this.#authorized(this.#authorizer, request)
  }

  /** Cancels all of them. */
  close(): void {
    this.#closed.abort(new Error('The connection is closed.'))
    for (const exchange of this.#exchanges) exchange.cancel()
  }

  #open(request: ExchangeRequest): Promise<Reply> {
    if (this.#closed.signal.aborted) return Promise.reject(this.#closed.signal.reason as Error)
    return new Exchange(this.#upstream, this.#exchanges).open(request)
  }

  /** The login looks at status and headers of a response, and at no body: that goes where it goes without a login. */
  async #authorized(authorizer: Authorizer, request: ExchangeRequest): Promise<Reply> {
    const { url } = this.#upstream
    let reply: Reply | undefined
    const send: FetchLike = async (_, init) => {
      if (request.isCancelled?.()) throw new Error('The request was cancelled during a login.')
      reply = await this.#open({ ...request, headers: new Headers(init?.headers) })
      return new Response(null, { status: reply.status, headers: headersOf(plainHeaders(reply)) })
    }
    const { method, headers } = request
    const { signal } = this.#closed
    await authorizedFetch(authorizer, url, send, loginFetch)(url, { method, headers, signal })
    if (reply === undefined) throw new Error('Nothing was sent.')
    return reply
  }
}

function plainHeaders({ headers }: Reply): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]))
}

/** Links to servers of the stateless era over HTTP. Nothing stays open: each request is one POST. */
import type { FetchLike } from '@modelcontextprotocol/client'
import { createParser } from 'eventsource-parser'
import {
  isObject,
  type Json,
  mediaTypeOf,
  MODERN_VERSION,
  parseJson,
  RemoteError,
  requestHeaders,
} from '../../protocol/index.ts'
import { type Authorizer, failureReason, type HttpAddress } from '../../client/index.ts'
import { authorizedFetch, boundedFetch, MAX_MESSAGE_BYTES, sameOrigin } from '../../client/internal.ts'
import { BackendError } from '../errors.ts'
import { type About, type Link, type LinkOptions, ownRequest } from './link.ts'
import { paramsFor, type Relayed } from './relayed.ts'
import { discovered } from './session.ts'

const FORMATS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
const limitedFetch = boundedFetch(sameOrigin(fetch))

/** Undefined where the server does not speak the stateless era. */
export async function openModernHttp(
  address: HttpAddress,
  options: LinkOptions,
  authorizer: Authorizer | undefined,
): Promise<Link | undefined> {
  const link = new ModernHttpLink(address, options, authorizer)
  const onCancel = (listener: () => void): void =>
    AbortSignal.timeout(options.startMs).addEventListener('abort', listener)
  const about = await link.request(ownRequest('server/discover', {}, { onCancel })).then(discovered, notModern)
  if (about === undefined) return undefined
  link.about = about
  return link
}

/** Servers of the session era answer anything to this; only a server that cannot be reached is an error. */
function notModern(error: unknown): undefined {
  if (error instanceof BackendError && (error.reason === 'BACKEND_DOWN' || error.reason === 'BACKEND_REFUSED'))
    throw error
}

class ModernHttpLink implements Link {
  readonly era = 'modern'
  readonly isClosed = false
  readonly hasSession = false
  readonly hasOwnHeaders = true
  readonly hasLogin: boolean
  about: About = { version: MODERN_VERSION, info: undefined, capabilities: {}, instructions: undefined }
  readonly #address: HttpAddress
  readonly #options: LinkOptions
  readonly #fetch: FetchLike
  #inFlight = 0
  #lastId = 0

  constructor(address: HttpAddress, options: LinkOptions, authorizer: Authorizer | undefined) {
    this.#address = address
    this.#options = options
    this.hasLogin = authorizer !== undefined
    this.#fetch = authorizer === undefined ? limitedFetch : authorizedFetch(authorizer, address.url, limitedFetch)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  async request(relayed: Relayed): Promise<Json> {
    const { timeoutMs, server } = this.#options
    const cancelled = new AbortController()
    const late = new BackendError('BACKEND_TIMEOUT', server, `has not answered within ${timeoutMs / 1000} seconds.`)
    const timer = relayed.isEndless ? undefined : setTimeout(() => cancelled.abort(late), timeoutMs)
    relayed.onCancel(() => cancelled.abort(new BackendError('BACKEND_LOST', server, 'was left by the caller.')))
    this.#inFlight++
    try {
      return await this.#exchange(relayed, ++this.#lastId, cancelled.signal)
    } finally {
      this.#inFlight--
      clearTimeout(timer)
    }
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  async #exchange(relayed: Relayed, id: number, signal: AbortSignal): Promise<Json> {
    const { method } = relayed
    const params = paramsFor('modern', relayed)
    const response = await this.#post(JSON.stringify({ jsonrpc: '2.0', id, method, params }), relayed, params, signal)
    try {
      const type = mediaTypeOf(response.headers.get('content-type'))
      const answer =
        type === 'text/event-stream' ? await this.#stream(response, relayed, id) : parseJson(await response.text())
      return this.#resultOf(answer, id, response.status)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (error instanceof RemoteError) throw error
      throw this.#lost(error)
    }
  }

  async #post(body: string, relayed: Relayed, params: Json, signal: AbortSignal): Promise<Response> {
    const own = relayed.credentials ?? this.#options.credentials
    const headers = new Headers(this.#address.headers)
    const more = { ...own?.headers, ...FORMATS, ...requestHeaders(relayed.method, params, MODERN_VERSION) }
    for (const [name, value] of Object.entries({ ...more, ...relayed.headers })) headers.set(name, value)
    try {
      // Who has credentials of their own does not use the login of the operator.
      const send = own === undefined ? this.#fetch : limitedFetch
      return await send(this.#address.url, { method: 'POST', headers, body, signal })
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw this.#lost(error)
    }
  }

  async #stream(response: Response, { notify }: Relayed, id: number): Promise<unknown> {
    let answer: unknown
    const parser = createParser({
      maxBufferSize: MAX_MESSAGE_BYTES,
      onEvent: ({ data }) => {
        const message = parseJson(data)
        if (!isObject(message)) return
        if (message['id'] === id) answer = message
        else if (typeof message['method'] === 'string' && isObject(message['params']))
          notify(message['method'], message['params'])
      },
    })
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      parser.feed(decoder.decode(chunk, { stream: true }))
      if (answer !== undefined) break
    }
    return answer
  }

  #resultOf(message: unknown, id: number, status: number): Json {
    const { server } = this.#options
    const { id: answered, result, error } = isObject(message) ? message : {}
    if (answered === id && isObject(result)) return result
    if (status === 401) throw this.#refused()
    if (isObject(error) && typeof error['code'] === 'number' && typeof error['message'] === 'string')
      throw new RemoteError(error['code'], error['message'], error['data'])
    if (status === 403) throw this.#refused()
    const what = status >= 400 ? `answered HTTP ${status}.` : 'answered with something that is no MCP message.'
    throw new BackendError('BACKEND_INVALID', server, what)
  }

  #refused(): BackendError {
    return new BackendError('BACKEND_REFUSED', this.#options.server, 'refuses the credentials it was sent.')
  }

  #lost(cause: unknown): BackendError {
    const { why, isUnauthorized } = failureReason(cause)
    if (isUnauthorized) return this.#refused()
    const sentence = `cannot be reached: ${why ?? 'the connection is broken.'}`
    return new BackendError('BACKEND_DOWN', this.#options.server, sentence, { cause })
  }
}

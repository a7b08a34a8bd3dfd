/** The endpoint on web-standard `Request` and `Response`, for Workers, Deno, Bun, Hono and others. */
import { type HeaderReader, joined, type OptionNames } from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import { isLocalHost } from '../localHost.ts'
import { chunksOf, limited, parseBytes, tooLarge } from './body.ts'
import { Endpoint, type EndpointParts, HANDLER_OPTIONS, type HandlerOptions } from './endpoint.ts'
import type { EndpointRequest } from './exchange.ts'
import { FetchSink } from './fetchSink.ts'
import { RequestRefused } from './refusal.ts'

/** A runtime's second argument beside a request, such as the `ctx` of a Worker. */
export interface RequestRuntime {
  /** Gets a promise of the end of the call, so that an instance is not stopped before it, also when its client has left. */
  waitUntil?(work: Promise<unknown>): void
}

/** From a request of the web to its response. Workers pass the runtime as their third argument. */
export type FetchHandler = (
  request: Request,
  runtime?: RequestRuntime & object,
  ctx?: RequestRuntime & object,
) => Promise<Response>

export interface FetchHandlerOptions extends HandlerOptions {
  /** The caller, instead of the result of the server's `principal`: for tests. @default the result of `principal` */
  principal?: Principal
}

export const FETCH_OPTIONS: OptionNames<FetchHandlerOptions> = { ...HANDLER_OPTIONS, principal: true }

export function fetchHandler(parts: EndpointParts, options: HandlerOptions): FetchHandler {
  const endpoint = new Endpoint(parts, options)
  const addressOf = rememberLast((url) => new URL(url))
  return (request, runtime, ctx) => {
    // Frameworks may have a class of their own.
    if (typeof request?.url !== 'string' || typeof request.headers?.get !== 'function')
      throw new TypeError('fetch needs a Request; hand over the one that came in.')
    const holder = typeof runtime?.waitUntil === 'function' ? runtime : ctx
    return answer(endpoint, request, addressOf(request.url), holder)
  }
}

/** Resolves with the reply, or with the stream as soon as one is opened. */
function answer(
  endpoint: Endpoint,
  request: Request,
  url: URL,
  runtime: RequestRuntime | undefined,
): Promise<Response> {
  return new Promise((resolve) => {
    const sink = new FetchSink(resolve, request.signal)
    // The catch is also for a reply that HTTP does not allow: the `principal` hook may set a challenge with any
    // character.
    const ended = endpoint
      .handle(new FetchHttpRequest(request, url, endpoint.maxBodyBytes), sink)
      .then((reply) => {
        if (reply !== undefined) sink.reply(reply)
        else if (sink.disconnected) sink.reply({ status: 499 }) // nothing was opened for a client that had disconnected
      })
      .catch((error: unknown) => sink.reply(endpoint.fail(error)))
    if (typeof runtime?.waitUntil === 'function') runtime.waitUntil(ended)
  })
}

/** Caches the last address: most requests have the same one, and comparing is cheaper than parsing. */
function rememberLast<T>(read: (text: string) => T): (text: string) => T {
  let last: { readonly text: string; readonly value: T } | undefined
  return (text) => {
    if (last?.text !== text) last = { text, value: read(text) }
    return last.value
  }
}

const BODY_USED = 'The body was read before it came here; hand the request on unread, or a clone of it.'

export class FetchHttpRequest implements EndpointRequest {
  readonly header: HeaderReader
  readonly #request: Request
  readonly #url: URL
  readonly #maxBytes: number
  #read: Uint8Array | undefined

  constructor(request: Request, url: URL, maxBytes: number) {
    this.header = (name) => request.headers.get(name) ?? (name === 'host' ? url.host : undefined)
    this.#request = request
    this.#url = url
    this.#maxBytes = maxBytes
  }

  get method(): string {
    return this.#request.method
  }

  get path(): string {
    return this.#url.pathname
  }

  get query(): string {
    return this.#url.search.slice(1)
  }

  /** A Request does not have the local address of its connection, so the host name in its URL decides. */
  get loopback(): boolean {
    return isLocalHost(this.#url.hostname)
  }

  get declaredBytes(): number {
    return Number(this.#request.headers.get('content-length') ?? Number.NaN)
  }

  get unreadable(): string | undefined {
    return this.#request.bodyUsed ? BODY_USED : undefined
  }

  get rawHeaders(): readonly string[] {
    return [...this.#request.headers].flat()
  }

  get hasBytes(): boolean {
    return true
  }

  async json(): Promise<unknown> {
    return parseBytes(await this.whole(), this.#maxBytes)
  }

  async whole(): Promise<Uint8Array> {
    this.#read ??= await (this.declaredBytes <= this.#maxBytes ? this.#atOnce() : this.#collected())
    return this.#read
  }

  bytes(maxBytes = this.#maxBytes): AsyncIterable<Uint8Array> {
    return limited(this.#request.body ?? chunksOf(), maxBytes)
  }

  /** The fastest way to read. Content-Length may be wrong, so the size is checked again. */
  async #atOnce(): Promise<Uint8Array> {
    const bytes = new Uint8Array(await this.#request.arrayBuffer())
    if (bytes.length > this.#maxBytes) throw new RequestRefused(tooLarge(this.#maxBytes))
    return bytes
  }

  async #collected(): Promise<Uint8Array> {
    const chunks: Uint8Array[] = []
    for await (const chunk of this.bytes()) chunks.push(chunk)
    return joined(chunks)
  }
}

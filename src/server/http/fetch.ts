/** The endpoint on web-standard `Request` and `Response`, for Workers, Deno, Bun, Hono and others. */
import { type HeaderReader, unref } from '../../protocol/index.ts'
import { isLocalHost } from '../localHost.ts'
import { chunksOf, limited, parseBytes, tooLarge } from './body.ts'
import { Endpoint, type EndpointParts, type HandlerOptions } from './endpoint.ts'
import { type EndpointRequest, type HttpReply, MAX_UNREAD_BYTES, readWithinMs, type Sink } from './exchange.ts'
import { RequestRefused } from './refusal.ts'

export type FetchHandler = (request: Request) => Promise<Response>

export function fetchHandler(parts: EndpointParts, options: HandlerOptions): FetchHandler {
  const endpoint = new Endpoint(parts, options)
  const addressOf = rememberLast((url) => new URL(url))
  return (request) => answer(endpoint, request, addressOf(request.url))
}

/** Resolves with the reply, or with the stream as soon as one is opened. */
function answer(endpoint: Endpoint, request: Request, url: URL): Promise<Response> {
  return new Promise((resolve) => {
    const sink = new FetchSink(resolve, request.signal)
    // The catch is also for a reply that HTTP does not allow: the `principal` hook may set a challenge with any
    // character.
    endpoint
      .handle(new FetchHttpRequest(request, url, endpoint.maxBodyBytes), sink)
      .then((reply) => {
        if (reply !== undefined) sink.reply(reply)
        else if (sink.disconnected) sink.reply({ status: 499 }) // nothing was opened for a client that had disconnected
      })
      .catch((error: unknown) => sink.reply(endpoint.fail(error)))
  })
}

/** Caches the last address: most requests have the same one, and to compare it is cheaper than to parse it. */
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

  /** A Request does not tell the local address of its connection, so this goes by the host name in its URL. */
  get loopback(): boolean {
    return isLocalHost(this.#url.hostname)
  }

  get declaredBytes(): number {
    return Number(this.#request.headers.get('content-length') ?? Number.NaN)
  }

  get unreadable(): string | undefined {
    return this.#request.bodyUsed ? BODY_USED : undefined
  }

  async json(): Promise<unknown> {
    const bytes = this.declaredBytes <= this.#maxBytes ? await this.#whole() : await this.#collected()
    return parseBytes(bytes, this.#maxBytes)
  }

  bytes(maxBytes = this.#maxBytes): AsyncIterable<Uint8Array> {
    return limited(this.#request.body ?? chunksOf(), maxBytes)
  }

  /** The fastest way to read. Content-Length may be wrong, so the size is checked again. */
  async #whole(): Promise<Buffer> {
    const bytes = Buffer.from(await this.#request.arrayBuffer())
    if (bytes.length > this.#maxBytes) throw new RequestRefused(tooLarge(this.#maxBytes))
    return bytes
  }

  async #collected(): Promise<Buffer> {
    const chunks: Uint8Array[] = []
    for await (const chunk of this.bytes()) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
}

function toResponse({ status, headers, body }: HttpReply): Response {
  if (body === undefined) return new Response(null, { status, ...(headers !== undefined && { headers }) })
  return new Response(body, { status, headers: headers === undefined ? JSON_HEADERS : { ...JSON_HEADERS, ...headers } })
}

const JSON_HEADERS = { 'content-type': 'application/json' }

class FetchSink implements Sink {
  readonly #resolve: (response: Response) => void
  readonly #listeners: (() => void)[] = []
  readonly #encoder = new TextEncoder()
  readonly #signal: AbortSignal
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #disconnected = false
  #headers: Readonly<Record<string, string>> | undefined
  #ended = false
  #writtenBytes = 0
  #unreadTimer: ReturnType<typeof setTimeout> | undefined

  constructor(resolve: (response: Response) => void, signal: AbortSignal) {
    this.#resolve = resolve
    this.#signal = signal
  }

  get disconnected(): boolean {
    return this.#disconnected || (this.#signal.aborted && !this.#ended)
  }

  setHeaders(headers: Readonly<Record<string, string>>): void {
    this.#headers = headers
  }

  /** Answers with a whole reply instead of a stream. */
  reply(reply: HttpReply): void {
    const response = toResponse(reply)
    for (const [name, value] of Object.entries(this.#headers ?? {})) response.headers.set(name, value)
    this.#resolve(response)
  }

  open(headers: Readonly<Record<string, string>>): void {
    const source = {
      start: (controller: ReadableStreamDefaultController<Uint8Array>): void => {
        this.#controller = controller
      },
      cancel: () => this.#disconnect(),
    }
    const body = new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }))
    this.#resolve(new Response(body, { status: 200, headers: { ...headers, ...this.#headers } }))
  }

  write(text: string): void {
    if (this.#controller === undefined || this.disconnected || this.#ended) return
    if ((this.#controller.desiredSize ?? 0) <= 0) return this.#giveUp()
    const chunk = this.#encoder.encode(text)
    this.#controller.enqueue(chunk)
    this.#writtenBytes += chunk.length
    if (this.#unreadTimer === undefined && this.#unreadBytes > 0) this.#limitUnread()
  }

  /** What lies here for the reader. A reader that waits has taken it already. */
  get #unreadBytes(): number {
    const room = this.#controller?.desiredSize ?? MAX_UNREAD_BYTES
    // A stream that was read to its end, or cancelled, has no room either.
    return room === 0 && (this.#ended || this.#disconnected) ? 0 : MAX_UNREAD_BYTES - room
  }

  /** A reader that takes nothing for a while is given up, also when the answer is complete. */
  #limitUnread(): void {
    const unread = this.#unreadBytes
    const readBytes = this.#writtenBytes - unread
    const look = (): void => {
      this.#unreadTimer = undefined
      if (this.#unreadBytes === 0) return
      if (this.#writtenBytes - this.#unreadBytes > readBytes) this.#limitUnread()
      else this.#giveUp()
    }
    this.#unreadTimer = unref(setTimeout(look, readWithinMs(unread)))
  }

  #giveUp(): void {
    this.#controller?.error(new Error('The stream was not read.'))
    this.#disconnect()
  }

  end(): void {
    if (this.#ended || this.#disconnected) return
    this.#ended = true
    this.#controller?.close()
  }

  onDisconnect(listener: () => void): void {
    if (this.disconnected) return listener()
    if (this.#listeners.length === 0) this.#signal.addEventListener('abort', () => this.#disconnect(), { once: true })
    this.#listeners.push(listener)
  }

  #disconnect(): void {
    if (this.#disconnected || this.#ended) return
    this.#disconnected = true
    for (const listener of this.#listeners) listener()
  }
}

/** The door on web-standard `Request` and `Response`, for Workers, Deno, Bun, Hono and friends. */
import type { HeaderReader } from '../../protocol/index.ts'
import { parseBytes } from './body.ts'
import { corsHeaders, preflightReply } from './cors.ts'
import { documentReply } from './documents.ts'
import { createGuard, isLocalHost } from './hostGuard.ts'
import { type Endpoint, readOnce } from './endpoint.ts'
import type { HandlerOptions, HostParts } from './node.ts'
import { type Reply, refusal } from './reply.ts'
import type { Sink } from './sink.ts'

export type FetchHandler = (request: Request) => Promise<Response>

const MAX_BODY_BYTES = 4 * 1024 * 1024

export function fetchHandler({ door, documents }: HostParts, options: HandlerOptions): FetchHandler {
  const { maxBodyBytes = MAX_BODY_BYTES } = options
  const guard = createGuard(options)
  const addressOf = rememberLast((url) => new URL(url))
  return async (request) => {
    const { method } = request
    const url = addressOf(request.url)
    const header: HeaderReader = (name) => request.headers.get(name) ?? (name === 'host' ? url.host : undefined)
    const document = documentReply(documents, method, url.pathname)
    if (document !== undefined) return toResponse(document)
    // A Request does not say over which address it came, so its own address must do.
    const refused = guard(header, isLocalHost(url.hostname))
    if (refused !== undefined) return toResponse(refusal(403, refused))
    const response = await serve(door, request, header, maxBodyBytes)
    for (const [name, value] of Object.entries(corsHeaders(header) ?? {})) response.headers.set(name, value)
    return response
  }
}

async function serve(door: Endpoint, request: Request, header: HeaderReader, maxBytes: number): Promise<Response> {
  const { method, signal } = request
  const preflight = preflightReply(method, header)
  if (preflight !== undefined) return toResponse(preflight)
  if (request.bodyUsed) return toResponse(refusal(500, BODY_USED))
  const bytes = method === 'POST' ? await readBody(request, maxBytes) : EMPTY
  if (bytes === undefined) return toResponse(refusal(413, `The body is larger than ${maxBytes} bytes.`))
  return answer(door, { method, header, json: readOnce(bytes, parseBytes) }, signal)
}

/** Requests mostly come for the same address, and reading one costs more than comparing it. */
function rememberLast<T>(read: (text: string) => T): (text: string) => T {
  let last: { readonly text: string; readonly value: T } | undefined
  return (text) => {
    if (last?.text !== text) last = { text, value: read(text) }
    return last.value
  }
}

const BODY_USED = 'The body was read before it came here; hand the request on unread, or a clone of it.'
const EMPTY = Buffer.alloc(0)

/** Resolves with the reply, or with the stream as soon as one is opened. */
function answer(door: Endpoint, request: Parameters<Endpoint['handle']>[0], signal: AbortSignal): Promise<Response> {
  return new Promise((resolve) => {
    const sink = new FetchSink(resolve, signal)
    door
      .handle(request, sink)
      .then((reply) => {
        if (reply !== undefined) resolve(toResponse(reply))
        else if (sink.gone) resolve(new Response(null, { status: 499 })) // nothing was opened for a client that had gone
      })
      .catch((error: unknown) => resolve(toResponse(door.fail(error)))) // a header that `principal` wrote may be none
  })
}

/** The body, or undefined when it is too large. */
async function readBody(request: Request, maxBytes: number): Promise<Buffer | undefined> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN)
  if (declared > maxBytes) return undefined
  if (declared <= maxBytes) {
    const bytes = Buffer.from(await request.arrayBuffer())
    return bytes.length > maxBytes ? undefined : bytes
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.length
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function toResponse({ status, headers, body }: Reply): Response {
  if (body === undefined) return new Response(null, { status, ...(headers !== undefined && { headers }) })
  return new Response(body, { status, headers: headers === undefined ? JSON_HEADERS : { ...JSON_HEADERS, ...headers } })
}

const JSON_HEADERS = { 'content-type': 'application/json' }

// A client that does not read must not make us keep what it leaves.
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

class FetchSink implements Sink {
  readonly #resolve: (response: Response) => void
  readonly #listeners: (() => void)[] = []
  readonly #encoder = new TextEncoder()
  readonly #signal: AbortSignal
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #gone = false
  #ended = false

  constructor(resolve: (response: Response) => void, signal: AbortSignal) {
    this.#resolve = resolve
    this.#signal = signal
  }

  get gone(): boolean {
    return this.#gone || (this.#signal.aborted && !this.#ended)
  }

  open(headers: Readonly<Record<string, string>>): void {
    const source = {
      start: (controller: ReadableStreamDefaultController<Uint8Array>): void => {
        this.#controller = controller
      },
      cancel: () => this.#leave(),
    }
    const body = new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }))
    this.#resolve(new Response(body, { status: 200, headers }))
  }

  write(text: string): void {
    if (this.#controller === undefined || this.gone || this.#ended) return
    const isFull = (this.#controller.desiredSize ?? 0) <= 0
    if (!isFull) return this.#controller.enqueue(this.#encoder.encode(text))
    this.#controller.error(new Error('The stream was not read.'))
    this.#leave()
  }

  end(): void {
    if (this.#ended || this.#gone) return
    this.#ended = true
    this.#controller?.close()
  }

  onGone(listener: () => void): void {
    if (this.gone) return listener()
    if (this.#listeners.length === 0) this.#signal.addEventListener('abort', () => this.#leave(), { once: true })
    this.#listeners.push(listener)
  }

  #leave(): void {
    if (this.#gone || this.#ended) return
    this.#gone = true
    for (const listener of this.#listeners) listener()
  }
}

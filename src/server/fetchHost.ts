/** The door on web-standard `Request` and `Response`, for Workers, Deno, Bun, Hono and friends. */
import type { HeaderReader } from '../protocol/index.ts'
import { parseBytes } from './bodyText.ts'
import type { Guard } from './guard.ts'
import { type HttpDoor, type Reply, refusal } from './httpDoor.ts'
import type { Sink } from './sink.ts'

const MAX_BODY_BYTES = 4 * 1024 * 1024

export function fetchHandler(door: HttpDoor, guard: Guard, maxBodyBytes = MAX_BODY_BYTES) {
  return async (request: Request): Promise<Response> => {
    const header: HeaderReader = (name) => request.headers.get(name) ?? undefined
    const refused = guard((name) => header(name) ?? (name === 'host' ? new URL(request.url).host : undefined))
    if (refused !== undefined) return toResponse(refusal(403, refused))
    const bytes = request.method === 'POST' ? await readBody(request, maxBodyBytes) : EMPTY
    if (bytes === undefined) return toResponse(refusal(413, `The body is larger than ${maxBodyBytes} bytes.`))
    return answer(door, { method: request.method, header, json: () => parseBytes(bytes) }, request.signal)
  }
}

const EMPTY = Buffer.alloc(0)

/** Resolves with the reply, or with the stream as soon as one is opened. */
function answer(door: HttpDoor, request: Parameters<HttpDoor['handle']>[0], signal: AbortSignal): Promise<Response> {
  return new Promise((resolve) => {
    const sink = new FetchSink(resolve, signal)
    void door.handle(request, sink).then((reply) => {
      if (reply !== undefined) resolve(toResponse(reply))
    })
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
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller
      },
      cancel: () => this.#leave(),
    })
    this.#resolve(new Response(body, { status: 200, headers }))
  }

  write(text: string): void {
    if (!this.#gone && !this.#ended) this.#controller?.enqueue(this.#encoder.encode(text))
  }

  end(): void {
    if (this.#ended || this.#gone) return
    this.#ended = true
    this.#controller?.close()
  }

  onGone(listener: () => void): void {
    if (this.#listeners.length === 0) this.#signal.addEventListener('abort', () => this.#leave(), { once: true })
    this.#listeners.push(listener)
  }

  #leave(): void {
    if (this.#gone || this.#ended) return
    this.#gone = true
    for (const listener of this.#listeners) listener()
  }
}

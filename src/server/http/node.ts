/** The endpoint as a handler for `node:http` and the frameworks built on it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type HeaderReader, rememberedTexts } from '../../protocol/index.ts'
import { isLocalHost } from '../localHost.ts'
import { bodyGauge, chunksOf, limited, parseBody, parseBytes } from './body.ts'
import { Endpoint, type EndpointParts, type HandlerOptions } from './endpoint.ts'
import type { EndpointRequest, HttpReply } from './exchange.ts'
import { giveUpUnread, NodeSink } from './nodeSink.ts'
import { refusal, RequestRefused } from './refusal.ts'

/** A request of `node:http`. A framework that has read the body, parsed or not, leaves it in `body`. */
export type NodeRequest = IncomingMessage & { body?: unknown; originalUrl?: string }

/** Serves one endpoint, whatever its path; for mounting in Express, Fastify or a plain server of one's own. */
export type NodeHandler = (req: NodeRequest, res: ServerResponse) => void

/** `loopback`: whether requests come over a loopback address; if undefined, each connection is checked. */
export function nodeHandler(parts: EndpointParts, options: HandlerOptions, loopback?: boolean): NodeHandler {
  const endpoint = new Endpoint(parts, options)
  return (req, res) => {
    if (req.rawHeaders.length >= MAX_RAW_HEADERS) return send(res, refusal(431, 'Send fewer headers.'))
    endpoint.handle(new NodeHttpRequest(req, endpoint.maxBodyBytes, loopback), new NodeSink(res)).then(
      (reply) => {
        if (reply !== undefined) sendOrFail(endpoint, res, reply)
      },
      (error: unknown) => send(res, endpoint.fail(error)),
    )
  }
}

/** A reply can be one that HTTP does not allow: the `principal` hook may set a challenge with any character. */
function sendOrFail(endpoint: Endpoint, res: ServerResponse, reply: HttpReply): void {
  try {
    send(res, reply)
  } catch (error) {
    send(res, endpoint.fail(error))
  }
}

export function send(res: ServerResponse, { status, headers, type = 'application/json', body }: HttpReply): void {
  if (res.headersSent || res.destroyed) return
  if (status === 413) res.setHeader('connection', 'close') // or Node would read the rest of the body
  if (body === undefined) {
    res.writeHead(status, { ...headers, 'content-length': '0' }).end()
    return
  }
  // A flat list of headers and one string: Node sends head and body in one write, and does not copy the headers.
  const bytes = Buffer.byteLength(body)
  const head = ['content-type', type, 'content-length', String(bytes)]
  if (headers !== undefined) head.push(...Object.entries(headers).flat())
  res.writeHead(status, head)
  res.end(body, bytes === body.length ? 'latin1' : 'utf8')
  giveUpUnread(res)
}

const BODY_READ = 'The body was read before it came here; hand it over as "body" of the request.'
const BODY_PARSED = 'The body was parsed before it came here; hand it over unread.'

class NodeHttpRequest implements EndpointRequest {
  readonly header: HeaderReader
  readonly #req: NodeRequest
  readonly #maxBytes: number
  readonly #loopback: boolean | undefined
  /** The bytes that `whole` has read. */
  #read: Buffer | undefined

  constructor(req: NodeRequest, maxBytes: number, loopback: boolean | undefined) {
    this.header = rawHeaderReader(req.rawHeaders)
    this.#req = req
    this.#maxBytes = maxBytes
    this.#loopback = loopback
  }

  get method(): string {
    return this.#req.method ?? ''
  }

  get path(): string {
    return pathOf(this.#req)
  }

  get query(): string {
    const { originalUrl, url = '/' } = this.#req
    return queryOf(originalUrl ?? url)
  }

  get loopback(): boolean {
    return this.#loopback ?? isLocalHost(this.#req.socket.localAddress ?? '')
  }

  get declaredBytes(): number {
    return this.#req.body === undefined ? Number(this.header('content-length') ?? Number.NaN) : Number.NaN
  }

  get unreadable(): string | undefined {
    return this.#req.body === undefined && this.#req.readableEnded ? BODY_READ : undefined
  }

  get rawHeaders(): readonly string[] {
    return this.#req.rawHeaders
  }

  get hasBytes(): boolean {
    const { body } = this.#req
    return body === undefined || body instanceof Uint8Array
  }

  json(): Promise<unknown> {
    const { body } = this.#req
    if (body === undefined && this.#read === undefined) return readBody(this.#req, this.#maxBytes, parseBytes)
    return new Promise((resolve) => resolve(parseBody(this.#read ?? body, this.#maxBytes)))
  }

  whole(): Promise<Buffer> {
    const { body } = this.#req
    if (body === undefined) return readBody(this.#req, this.#maxBytes, (bytes) => (this.#read = bytes))
    if (!(body instanceof Uint8Array)) return Promise.reject(new RequestRefused(refusal(500, BODY_PARSED)))
    return Promise.resolve(Buffer.from(body.buffer, body.byteOffset, body.byteLength))
  }

  bytes(maxBytes = this.#maxBytes): AsyncIterable<Uint8Array> {
    const { body } = this.#req
    if (body === undefined) return limited(this.#req.iterator({ destroyOnReturn: false }), maxBytes)
    if (body instanceof Uint8Array) return chunksOf(body)
    throw new RequestRefused(refusal(500, BODY_PARSED))
  }
}

/** Reads by events, because iterating over the request would create promises for each chunk. */
function readBody<T>(
  req: IncomingMessage,
  maxBytes: number,
  parse: (bytes: Buffer, maxBytes: number) => T,
): Promise<T> {
  return new Promise((resolve, reject: (error: Error) => void) => {
    let chunks: Buffer[] = []
    let isRefused = false
    const refusalOf = bodyGauge(maxBytes)
    req.on('data', (chunk: Buffer) => {
      if (isRefused) return
      const refused = refusalOf(chunk)
      if (refused === undefined) return void chunks.push(chunk)
      isRefused = true
      chunks = []
      req.pause() // the rest stays unread
      reject(new RequestRefused(refused))
    })
    req.on('end', () => {
      if (isRefused) return
      const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
      chunks = [] // this listener lives as long as the call
      try {
        resolve(parse(bytes, maxBytes))
      } catch (error) {
        reject(error as Error)
      }
    })
  })
}

/** Frameworks remove the mount path from `url`; `originalUrl` has it. */
export function pathOf({ originalUrl, url = '/' }: NodeRequest): string {
  const whole = originalUrl ?? url
  const query = whole.indexOf('?')
  return query < 0 ? whole : whole.slice(0, query)
}

function queryOf(address: string): string {
  const at = address.indexOf('?')
  return at < 0 ? '' : address.slice(at + 1)
}

const MAX_SPELLINGS = 500

/** A header's name in lower case, by its original spelling. Clients use few spellings. */
const lowered = rememberedTexts((name) => name.toLowerCase(), MAX_SPELLINGS)

/**
 * The number of names and values at which a request is refused. Node silently drops headers above it, perhaps the Origin,
 * which could then not be checked.
 */
const MAX_RAW_HEADERS = 2000

/**
 * Reads the raw headers of a `node:http` request. The `headers` object would cost more than all checks together, and keeps
 * only the first value of a repeated header. Here the values are joined, so that checks see all of them.
 */
export function rawHeaderReader(raw: readonly string[]): HeaderReader {
  const names: string[] = []
  for (let at = 0; at < raw.length; at += 2) names.push(lowered(raw[at] as string))
  return (name) => {
    let found: string | undefined
    for (let index = names.indexOf(name); index >= 0; index = names.indexOf(name, index + 1)) {
      const value = raw[2 * index + 1]
      found = found === undefined ? value : `${found}, ${value}`
    }
    return found
  }
}

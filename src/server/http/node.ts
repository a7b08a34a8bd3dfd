/** The door as a handler for `node:http` and what builds on it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HeaderReader } from '../../protocol/index.ts'
import { parseBody, parseBytes } from './body.ts'
import { corsHeaders, preflightReply } from './cors.ts'
import { documentReply, type Documents } from './documents.ts'
import { type Endpoint, readOnce } from './endpoint.ts'
import { createGuard, type GuardOptions, isLocalHost } from './hostGuard.ts'
import { refusal, type Reply } from './reply.ts'
import type { Sink } from './sink.ts'

export interface HandlerOptions extends GuardOptions {
  /** The largest body taken, in bytes; a framework's own parser has its own limit. @default 4194304 */
  maxBodyBytes?: number
}

/** A request as `node:http` gives it; `body` is there when a framework has read it already, parsed or not. */
type NodeRequest = IncomingMessage & { body?: unknown; originalUrl?: string }

/** Serves one endpoint, whatever its path; for mounting in Express, Fastify or a plain server of one's own. */
export type NodeHandler = (req: NodeRequest, res: ServerResponse) => void

export interface HostParts {
  readonly door: Endpoint
  readonly documents: Documents
}

const MAX_BODY_BYTES = 4 * 1024 * 1024

/** `loopback`: whether requests come over a loopback address, where that is known beforehand. */
export function nodeHandler(parts: HostParts, options: HandlerOptions, loopback?: boolean): NodeHandler {
  const { door, documents } = parts
  const { maxBodyBytes = MAX_BODY_BYTES } = options
  const guard = createGuard(options)
  return (req, res) => {
    if (req.rawHeaders.length >= MAX_RAW_HEADERS) return send(res, refusal(431, 'Send fewer headers.'))
    const header = rawHeaderReader(req.rawHeaders)
    const document = documents.size > 0 ? documentReply(documents, req.method, pathOf(req)) : undefined
    if (document !== undefined) return send(res, document)
    const refused = guard(header, loopback ?? isLocalHost(req.socket.localAddress ?? ''))
    if (refused !== undefined) return send(res, refusal(403, refused))
    const cors = corsHeaders(header)
    if (cors !== undefined) res.setHeaders(new Map(Object.entries(cors)))
    if (req.method !== 'POST') return serveOther(door, req, res, header)
    if (req.body !== undefined) return serve(door, req, res, header, readOnce(req.body, parseBody))
    if (req.readableEnded) return send(res, refusal(500, BODY_READ))
    collect(req, res, maxBodyBytes, (bytes) => serve(door, req, res, header, readOnce(bytes, parseBytes)))
  }
}

const BODY_READ = 'The body was read before it came here; hand it over as "body" of the request.'

function serveOther(door: Endpoint, req: NodeRequest, res: ServerResponse, header: HeaderReader): void {
  const preflight = preflightReply(req.method, header)
  if (preflight !== undefined) send(res, preflight)
  else serve(door, req, res, header, () => undefined)
}

function serve(
  door: Endpoint,
  req: IncomingMessage,
  res: ServerResponse,
  header: HeaderReader,
  json: () => unknown,
): void {
  door
    .handle({ method: req.method ?? '', header, json }, new NodeSink(res))
    .then((reply) => {
      if (reply !== undefined) send(res, reply)
    })
    .catch((error: unknown) => send(res, door.fail(error))) // a header that `principal` wrote may be none
}

function collect(req: IncomingMessage, res: ServerResponse, maxBytes: number, done: (bytes: Buffer) => void): void {
  let chunks: Buffer[] = []
  let size = 0
  req.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= maxBytes) chunks.push(chunk)
    else if (!res.headersSent)
      send(res, { ...refusal(413, `The body is larger than ${maxBytes} bytes.`), headers: { connection: 'close' } })
  })
  req.on('end', () => {
    if (size > maxBytes) return
    const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
    chunks = [] // the request lives as long as its call, and this listener with it
    done(bytes)
  })
}

export function send(res: ServerResponse, { status, headers, body }: Reply): void {
  if (res.headersSent || res.destroyed) return
  if (body === undefined) {
    res.writeHead(status, { ...headers, 'content-length': '0' }).end()
    return
  }
  // A flat list and one text: head and body leave in one write, with the least work before it.
  const head = ['content-type', 'application/json', 'content-length', String(Buffer.byteLength(body))]
  if (headers !== undefined) head.push(...Object.entries(headers).flat())
  res.writeHead(status, head)
  res.end(body)
}

/** Frameworks shorten `url` to what is below the mount and keep the whole in `originalUrl`. */
export function pathOf({ originalUrl, url = '/' }: NodeRequest): string {
  const whole = originalUrl ?? url
  const query = whole.indexOf('?')
  return query < 0 ? whole : whole.slice(0, query)
}

// A client that does not read must not make us keep what it leaves.
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/** A streamed answer on `node:http`. */
export class NodeSink implements Sink {
  readonly #res: ServerResponse

  constructor(res: ServerResponse) {
    this.#res = res
  }

  get gone(): boolean {
    return this.#res.destroyed && !this.#res.writableFinished
  }

  open(headers: Readonly<Record<string, string>>): void {
    if (this.#res.headersSent) return
    this.#res.writeHead(200, headers)
    this.#res.flushHeaders()
  }

  write(text: string): void {
    if (this.#res.destroyed || this.#res.writableEnded) return
    this.#res.write(text)
    if (this.#res.writableLength > MAX_UNREAD_BYTES) this.#res.destroy()
  }

  end(): void {
    this.#res.end()
  }

  onGone(listener: () => void): void {
    if (this.gone) return listener()
    this.#res.once('close', () => {
      if (!this.#res.writableFinished) listener()
    })
  }
}

// Lower-case names by the spelling they came in: clients use few spellings, so most names are found here.
const lowerCase = new Map<string, string>()
const MAX_SPELLINGS = 500

/**
 * Names and values together. Node drops what comes after this many without a word, an Origin for instance, so a request
 * with as many cannot be judged.
 */
const MAX_RAW_HEADERS = 2000

/**
 * Reads the headers of a `node:http` request. Its own `headers` object costs more than all our checks of them together,
 * and of a header sent twice it keeps only the first; here both show, so that nobody reads one and somebody the other.
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

function lowered(name: string): string {
  const known = lowerCase.get(name)
  if (known !== undefined) return known
  const lower = name.toLowerCase()
  if (lowerCase.size < MAX_SPELLINGS) lowerCase.set(name, lower)
  return lower
}

/** The door as a handler for `node:http` and what builds on it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HeaderReader } from '../../protocol/index.ts'
import { parseBody, parseBytes } from './body.ts'
import { corsHeaders, preflightReply } from './cors.ts'
import { type Documents, documentReply } from './documents.ts'
import { createGuard, type GuardOptions, isLocalHost } from './hostGuard.ts'
import { type HttpDoor, readOnce } from './endpoint.ts'
import { NodeSink } from './nodeSink.ts'
import { MAX_RAW_HEADERS, rawHeaderReader } from './rawHeaders.ts'
import { type Reply, refusal } from './reply.ts'

export interface HandlerOptions extends GuardOptions {
  /** The largest body taken, in bytes; a framework's own parser has its own limit. @default 4194304 */
  maxBodyBytes?: number
}

/** A request as `node:http` gives it; `body` is there when a framework has read it already, parsed or not. */
export type NodeRequest = IncomingMessage & { body?: unknown; originalUrl?: string }

/** Serves one endpoint, whatever its path; for mounting in Express, Fastify or a plain server of one's own. */
export type NodeHandler = (req: NodeRequest, res: ServerResponse) => void

export interface HostParts {
  readonly door: HttpDoor
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

function serveOther(door: HttpDoor, req: NodeRequest, res: ServerResponse, header: HeaderReader): void {
  const preflight = preflightReply(req.method, header)
  if (preflight !== undefined) send(res, preflight)
  else serve(door, req, res, header, () => undefined)
}

function serve(
  door: HttpDoor,
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

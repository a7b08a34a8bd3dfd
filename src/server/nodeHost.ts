/** The door on `node:http`. */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerOptions as HttpServerOptions,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type { HeaderReader } from '../protocol/index.ts'
import { parseBody, parseBytes } from './bodyText.ts'
import { closeServer } from './closeServer.ts'
import { corsHeaders, preflightReply } from './cors.ts'
import { type Documents, documentReply } from './documents.ts'
import { createGuard, type GuardOptions, isLocalHost } from './guard.ts'
import type { HttpDoor } from './httpDoor.ts'
import { type Reply, refusal } from './reply.ts'
import type { Sink } from './sink.ts'

export interface ListenOptions extends GuardOptions {
  /** @default 0, any free port */
  port?: number
  /** @default '127.0.0.1' */
  host?: string
  /** @default '/mcp' */
  path?: string
  /** The largest body taken, in bytes. @default 4194304 */
  maxBodyBytes?: number
  /** How long a client may take to send a whole request, in milliseconds. @default 30000 */
  requestTimeoutMs?: number
  /** Whether SIGTERM drains the server and then ends the process. @default true */
  drainOnTerm?: boolean
}

export interface Listening {
  readonly port: number
  /** The endpoint. */
  readonly url: string
  /** Takes no new connections and ends the idle ones; resolves when the last one is gone. */
  close(): Promise<void>
}

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
    const header: HeaderReader = (name) => {
      const value = req.headers[name]
      return typeof value === 'object' ? value.join(', ') : value
    }
    const document = documents.size > 0 ? documentReply(documents, req.method, pathOf(req)) : undefined
    if (document !== undefined) return send(res, document)
    const refused = guard(header, loopback ?? isLocalHost(req.socket.localAddress ?? ''))
    if (refused !== undefined) return send(res, refusal(403, refused))
    const cors = corsHeaders(header)
    if (cors !== undefined) res.setHeaders(new Map(Object.entries(cors)))
    if (req.method !== 'POST') return serveOther(door, req, res, header)
    if (req.body !== undefined) return serve(door, req, res, header, () => parseBody(req.body))
    if (req.readableEnded) return send(res, refusal(500, BODY_READ))
    collect(req, res, maxBodyBytes, (bytes) => serve(door, req, res, header, () => parseBytes(bytes)))
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
  void door.handle({ method: req.method ?? '', header, json }, new NodeSink(res)).then((reply) => {
    if (reply !== undefined) send(res, reply)
  })
}

function collect(req: IncomingMessage, res: ServerResponse, maxBytes: number, done: (bytes: Buffer) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  req.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= maxBytes) chunks.push(chunk)
    else if (!res.headersSent)
      send(res, { ...refusal(413, `The body is larger than ${maxBytes} bytes.`), headers: { connection: 'close' } })
  })
  req.on('end', () => {
    if (size <= maxBytes) done(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks))
  })
}

function send(res: ServerResponse, { status, headers, body }: Reply): void {
  if (res.headersSent || res.destroyed) return
  if (body === undefined) {
    res.writeHead(status, { ...headers, 'content-length': '0' }).end()
    return
  }
  // Length and text at once let head and body leave in one write.
  const length = Buffer.byteLength(body)
  if (headers === undefined) res.writeHead(status, { 'content-type': 'application/json', 'content-length': length })
  else res.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers })
  res.end(body)
}

class NodeSink implements Sink {
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
    if (!this.#res.destroyed && !this.#res.writableEnded) this.#res.write(text)
  }

  end(): void {
    this.#res.end()
  }

  onGone(listener: () => void): void {
    this.#res.once('close', () => {
      if (!this.#res.writableFinished) listener()
    })
  }
}

export async function listen(parts: HostParts, options: ListenOptions): Promise<Listening & { server: HttpServer }> {
  const { port = 0, host = '127.0.0.1', path = '/mcp', requestTimeoutMs = 30_000 } = options
  const handler = nodeHandler(parts, options, isLocalHost(host))
  const server = createHttpServer(httpOptions(requestTimeoutMs), (req, res) => {
    if (!server.listening) res.setHeader('connection', 'close')
    if (req.url === path) return handler(req, res) // the usual case, at the cost of one comparison
    const asked = pathOf(req)
    if (asked === path || parts.documents.has(asked)) return handler(req, res)
    send(res, refusal(404, `The endpoint is at ${path}.`))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address() as AddressInfo
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return { server, port: address.port, url: `http://${name}:${address.port}${path}`, close: () => closeServer(server) }
}

/** Frameworks shorten `url` to what is below the mount and keep the whole in `originalUrl`. */
function pathOf({ originalUrl, url = '/' }: NodeRequest): string {
  const whole = originalUrl ?? url
  const query = whole.indexOf('?')
  return query < 0 ? whole : whole.slice(0, query)
}

/** Node looks for late requests only now and then, so "now and then" follows the limit. */
function httpOptions(requestTimeoutMs: number): HttpServerOptions {
  return {
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(requestTimeoutMs, 10_000),
    connectionsCheckingInterval: Math.min(requestTimeoutMs / 4, 5000),
    keepAliveTimeout: 65_000,
  }
}

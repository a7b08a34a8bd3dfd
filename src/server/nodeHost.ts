/** The door on `node:http`. */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type { HeaderReader } from '../protocol/index.ts'
import { parseBytes } from './bodyText.ts'
import { createGuard, type Guard, type GuardOptions, isLoopback } from './guard.ts'
import { type HttpDoor, type Reply, refusal } from './httpDoor.ts'
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
}

export interface Listening {
  readonly port: number
  /** The endpoint. */
  readonly url: string
  /** Takes no new connections and ends the idle ones; resolves when the last one is gone. */
  close(): Promise<void>
}

export interface NodeHandlerOptions extends GuardOptions {
  maxBodyBytes?: number
}

/** Serves one endpoint; for mounting in Express, Fastify or a plain server of one's own. */
export type NodeHandler = (req: IncomingMessage & { body?: unknown }, res: ServerResponse) => void

const MAX_BODY_BYTES = 4 * 1024 * 1024

export function nodeHandler(door: HttpDoor, guard: Guard, maxBodyBytes = MAX_BODY_BYTES): NodeHandler {
  return (req, res) => {
    const header: HeaderReader = (name) => {
      const value = req.headers[name]
      return typeof value === 'object' ? value.join(', ') : value
    }
    const refused = guard(header)
    if (refused !== undefined) return send(res, refusal(403, refused))
    if (req.method !== 'POST') return serve(door, req, res, header, () => undefined)
    if (req.body !== undefined) return serve(door, req, res, header, () => req.body) // a framework has parsed it
    collect(req, res, maxBodyBytes, (bytes) => serve(door, req, res, header, () => parseBytes(bytes)))
  }
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

export interface ListenParts {
  readonly door: HttpDoor
  /** Served beside the endpoint, such as the protected-resource metadata. */
  readonly documents: ReadonlyMap<string, string>
}

export async function listen(
  { door, documents }: ListenParts,
  options: ListenOptions,
): Promise<Listening & { server: HttpServer }> {
  const { port = 0, host = '127.0.0.1', path = '/mcp', maxBodyBytes, requestTimeoutMs = 30_000 } = options
  const handler = nodeHandler(door, createGuard(options, isLoopback(host)), maxBodyBytes)
  const server = createHttpServer(
    { requestTimeout: requestTimeoutMs, headersTimeout: Math.min(requestTimeoutMs, 10_000), keepAliveTimeout: 65_000 },
    (req, res) => {
      if (isPath(req.url, path)) return handler(req, res)
      const document = req.method === 'GET' ? documents.get(pathOf(req.url)) : undefined
      if (document === undefined) return send(res, refusal(404, `The endpoint is at ${path}.`))
      send(res, { status: 200, body: document, headers: { 'access-control-allow-origin': '*' } })
    },
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address() as AddressInfo
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return { server, port: address.port, url: `http://${name}:${address.port}${path}`, close: () => closeServer(server) }
}

function isPath(url: string | undefined, path: string): boolean {
  return url === path || pathOf(url) === path
}

function pathOf(url = '/'): string {
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}

async function closeServer(server: HttpServer): Promise<void> {
  if (!server.listening) return
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  await closed
}

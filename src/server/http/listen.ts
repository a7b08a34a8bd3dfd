/** The endpoint on its own `node:http` server. */
import { createServer as createHttpServer, type ServerOptions as HttpServerOptions } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isLocalHost } from '../localHost.ts'
import type { OptionNames } from '../../protocol/index.ts'
import { Connections } from './connections.ts'
import type { EndpointParts } from './endpoint.ts'
import { GUARD_OPTIONS, type GuardOptions } from './hostGuard.ts'
import { type NodeHandler, nodeHandler, pathOf, send } from './node.ts'
import { refusal } from './refusal.ts'

const DEFAULT_HOST = '127.0.0.1'

export interface ListenOptions extends GuardOptions {
  /** The port. @default 0, any free port */
  port?: number
  /** The address to listen at. @default '127.0.0.1' */
  host?: string
  /** The path of the endpoint. @default '/mcp' */
  path?: string
  /**
   * The address of this instance's endpoint as other instances reach it, such as `http://10.0.0.7:3000/mcp`. Answers of
   * session-era clients that come to another instance are forwarded there. @default where the server listens
   */
  advertise?: string
  /** The largest body that is accepted, in bytes; one may hold 20,000 keys and values, and more if this is raised. @default 4194304 */
  maxBodyBytes?: number
  /** Timeout for a whole request, in milliseconds. @default 30000 */
  requestTimeoutMs?: number
  /** Whether SIGTERM drains the server and then ends the process. @default true */
  drainOnTerm?: boolean
}

interface ListenerOptions extends ListenOptions {
  /** Whether this process alone listens at the port, also as a worker of `node:cluster`. @default false */
  readonly exclusive?: boolean
}

export const LISTEN_OPTIONS: OptionNames<ListenOptions> = {
  ...GUARD_OPTIONS,
  port: true,
  host: true,
  path: true,
  advertise: true,
  maxBodyBytes: true,
  requestTimeoutMs: true,
  drainOnTerm: true,
}

/** A server that listens. */
export interface Listening {
  /** The port, also if any free port was requested. */
  readonly port: number
  /** The address of the endpoint. */
  readonly url: string
  /** Accepts no new connections and closes the idle ones; resolves when the last one is closed. */
  close(): Promise<void>
}

/** An HTTP server that accepts connections. */
export interface HttpListener extends Listening {
  readonly connections: Connections
  readonly address: string
}

export async function listen(parts: EndpointParts, options: ListenOptions): Promise<HttpListener> {
  const { host = DEFAULT_HOST, path = '/mcp' } = options
  // A server at all addresses is also reached over loopback, so there each connection is checked.
  const handler = nodeHandler(parts, options, isLocalHost(host) || undefined)
  const endpointPath = withoutSlash(path)
  return openListener(options, (req, res) => {
    if (req.url === path) return handler(req, res) // the usual case
    const asked = pathOf(req)
    const isBelow = parts.pages?.has(asked) || parts.programs?.has(asked)
    if (withoutSlash(asked) === endpointPath || parts.documents.has(asked) || isBelow) return handler(req, res)
    send(res, refusal(404, `The endpoint is at ${path}.`))
  })
}

/** Opens the port. `serve` handles the requests of all paths. */
export async function openListener(options: ListenerOptions, serve: NodeHandler): Promise<HttpListener> {
  const { port = 0, host = DEFAULT_HOST, path = '/mcp', requestTimeoutMs = 30_000, exclusive = false } = options
  if (!path.startsWith('/')) throw new TypeError(`The path "${path}" must begin with a slash: "/${path}".`)
  const server = createHttpServer(httpOptions(requestTimeoutMs), (req, res) => {
    if (connections.closing) res.setHeader('connection', 'close')
    serve(req, res)
  })
  const connections = new Connections(server)
  server.maxHeadersCount = 0 // no limit: Node drops headers above it, and a dropped Origin would not be checked
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explained(error, port, host)))
    server.listen({ port, host, exclusive }, resolve)
  })
  const address = server.address() as AddressInfo
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return {
    connections,
    address: address.address,
    port: address.port,
    url: `http://${name}:${address.port}${path}`,
    close: () => connections.close(0),
  }
}

/** Some clients and proxies add a slash: `/mcp/` is `/mcp`. */
function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
}

/** The error of a port at which another process listens. */
export function portInUse(port: number, host: string): Error {
  return explained(Object.assign(new Error('EADDRINUSE'), { code: 'EADDRINUSE' }), port, host)
}

/** An error with a sentence about the port or the host, if one of them is at fault. */
function explained(cause: NodeJS.ErrnoException, port: number, host: string): Error {
  const sentence = LISTEN_FAULTS[cause.code ?? '']?.(port, host)
  return sentence === undefined ? cause : Object.assign(new Error(sentence, { cause }), { code: cause.code })
}

const noHost = (_: number, host: string): string =>
  `There is no host "${host}". Give the name or an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of its addresses.`

const LISTEN_FAULTS: Readonly<Record<string, (port: number, host: string) => string>> = {
  EADDRINUSE: (port, host) =>
    `Port ${port} of ${host} is in use. Stop the process that listens there, or choose another port.`,
  EADDRNOTAVAIL: (_, host) => `The address "${host}" is not one of this machine. Give one that is, or 0.0.0.0 for all.`,
  EACCES: (port) => `This user may not listen at port ${port}. Choose one above 1023.`,
  EAI_AGAIN: noHost,
  ENOTFOUND: noHost,
}

/** Node looks for late requests at an interval, which is derived from the timeout. */
function httpOptions(requestTimeoutMs: number): HttpServerOptions {
  return {
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(requestTimeoutMs, 10_000),
    connectionsCheckingInterval: Math.min(requestTimeoutMs / 4, 5000),
    keepAliveTimeout: 65_000,
  }
}

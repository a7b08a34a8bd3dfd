/**
 * A plain load balancer: each request goes to the next instance. One whose address refuses is passed over, as every
 * balancer does; and, where it is told to, one that answers with 503. Nothing else is looked at, or sent twice.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { startHttpHost } from '../fixtures/httpHost.ts'

export interface Balancer {
  readonly url: string
  /** The addresses behind it, which may change at any time. */
  targets: readonly string[]
  /** Told of each request before it goes to a target. */
  onPass: (session: string | undefined, body: Buffer, target: string) => void
  /** Told of each status that a client gets. */
  onReply: (status: number) => void
  close(): void
}

export interface BalancerOptions {
  /** As nginx does with `proxy_next_upstream http_503 non_idempotent`. @default false */
  readonly passesOver503?: boolean
}

export async function startBalancer({ passesOver503 = false }: BalancerOptions = {}): Promise<Balancer> {
  let turn = 0
  const server = createServer((req, res) => {
    const { targets } = balancer
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => pass(req, res, Buffer.concat(chunks), rotated(targets, turn++), balancer, passesOver503))
  })
  server.keepAliveTimeout = 60_000 // or a request that meets the end of an idle connection would fail before it gets here
  const { url, close } = await startHttpHost(server)
  const balancer: Balancer = { url, targets: [], onPass: () => {}, onReply: () => {}, close }
  return balancer
}

function rotated<T>(list: readonly T[], by: number): T[] {
  const at = list.length === 0 ? 0 : by % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}

function pass(
  req: IncomingMessage,
  res: ServerResponse,
  body: Buffer,
  [target, ...others]: readonly string[],
  balancer: Balancer,
  passesOver503: boolean,
): void {
  if (target === undefined) {
    res.writeHead(503).end('503 Service Unavailable')
    return
  }
  balancer.onPass(req.headers['mcp-session-id']?.toString(), body, target)
  const onward = request(target, { method: req.method, headers: req.headers, agent: false })
  onward.on('response', (answer) => {
    if (answer.statusCode === 503 && passesOver503 && others.length > 0) {
      answer.resume()
      pass(req, res, body, others, balancer, passesOver503)
      return
    }
    balancer.onReply(answer.statusCode ?? 502)
    res.writeHead(answer.statusCode ?? 502, answer.headers)
    res.flushHeaders()
    answer.pipe(res)
    answer.on('error', () => res.destroy())
    answer.on('close', () => {
      if (!answer.complete) res.destroy()
    })
  })
  onward.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNREFUSED') pass(req, res, body, others, balancer, passesOver503)
    else if (res.headersSent) res.destroy()
    else res.writeHead(502).end('502 Bad Gateway')
  })
  res.on('close', () => onward.destroy())
  onward.end(body)
}

/**
 * A plain load balancer: each request goes to the next instance. One whose address refuses is passed over, as every
 * balancer does; nothing else is looked at, and nothing is sent twice.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Balancer {
  readonly url: string
  /** The addresses behind it, which may change at any time. */
  targets: readonly string[]
  close(): void
}

export async function startBalancer(): Promise<Balancer> {
  let turn = 0
  const server = createServer((req, res) => {
    const { targets } = balancer
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => pass(req, res, Buffer.concat(chunks), rotated(targets, turn++)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const balancer: Balancer = {
    url: `http://127.0.0.1:${port}/mcp`,
    targets: [],
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
  return balancer
}

function rotated<T>(list: readonly T[], by: number): T[] {
  const at = list.length === 0 ? 0 : by % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}

function pass(req: IncomingMessage, res: ServerResponse, body: Buffer, targets: readonly string[]): void {
  const [target, ...others] = targets
  if (target === undefined) {
    res.writeHead(503).end()
    return
  }
  const onward = request(target, { method: req.method, headers: req.headers, agent: false })
  onward.on('response', (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers)
    res.flushHeaders()
    answer.pipe(res)
    answer.on('error', () => res.destroy())
    answer.on('close', () => {
      if (!answer.complete) res.destroy()
    })
  })
  onward.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNREFUSED') pass(req, res, body, others)
    else if (res.headersSent) res.destroy()
    else res.writeHead(502).end()
  })
  res.on('close', () => onward.destroy())
  onward.end(body)
}

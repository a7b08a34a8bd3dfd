/** A plain round robin: each request, not each connection, goes to the next server. It knows nothing of MCP. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface RoundRobin {
  readonly url: string
  /** How many requests each server got. */
  readonly served: readonly number[]
  stop(): void
}

export async function startRoundRobin(urls: readonly string[]): Promise<RoundRobin> {
  const targets = urls.map((url) => new URL(url))
  const served = targets.map(() => 0)
  let turn = 0
  const server = createServer((req, res) => {
    const index = turn++ % targets.length
    served[index] = (served[index] ?? 0) + 1
    forward(req, res, targets[index] as URL)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const stop = (): void => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${port}${targets[0]?.pathname}`, served, stop }
}

function forward(req: IncomingMessage, res: ServerResponse, { hostname, port }: URL): void {
  // Host goes along as the client wrote it: the server behind decides whether it answers to that name.
  const onward = request({ hostname, port, method: req.method, path: req.url, headers: req.rawHeaders })
  onward.on('response', (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers)
    res.flushHeaders()
    answer.pipe(res)
  })
  onward.on('error', () => (res.headersSent ? res.destroy() : res.writeHead(502).end()))
  res.on('close', () => onward.destroy()) // a client that goes away is gone for the server too
  req.pipe(onward)
}

/** HTTP servers that last as long as a test, and remember what they were sent. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { Loose } from '../client/fakeTransport.ts'

export interface Seen {
  readonly verb: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The message, where there is one. */
  readonly message: Loose
  /** Which connection it came on, counted from 1. */
  readonly socket: number
}

export interface Host {
  readonly url: string
  readonly seen: readonly Seen[]
  /** The methods of the messages, and the verbs where there is no message. */
  readonly asked: readonly string[]
}

export type Respond = (seen: Seen, res: ServerResponse) => unknown

export async function startHost(respond: Respond): Promise<Host> {
  const seen: Seen[] = []
  const sockets: Socket[] = []
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (!sockets.includes(req.socket)) sockets.push(req.socket)
    const body = await text(req)
    const message: Loose = body === '' ? {} : JSON.parse(body)
    const { method: verb = '', url: path = '', headers } = req
    const one = { verb, path, headers, message, socket: sockets.indexOf(req.socket) + 1 }
    seen.push(one)
    await respond(one, res)
  }
  const server = createServer((req, res) => void serve(req, res))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => (server.closeAllConnections(), void server.close()))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    seen,
    get asked() {
      return seen.map(({ verb, message }) => (message['method'] as string | undefined) ?? verb)
    },
  }
}

export function json(res: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export function events(res: ServerResponse, messages: readonly unknown[], headers: Record<string, string> = {}): void {
  res.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
  for (const message of messages) res.write(`data: ${JSON.stringify(message)}\n\n`)
}

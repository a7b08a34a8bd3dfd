/** Serves messages over HTTP, where the first argument is http, or line by line. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { Message } from './seedServers.ts'

type Answer = (message: Message) => string | undefined

export interface Served {
  /** A new connection, or a new session. */
  readonly open: () => Answer
  readonly hasSessions?: boolean
}

export async function serve(served: Served): Promise<void> {
  if (process.argv[2] === 'http') return console.log(await serveHttp(served))
  const answer = served.open()
  for await (const line of createInterface(process.stdin)) {
    const said = answer(JSON.parse(line) as Message)
    if (said !== undefined) console.log(said)
  }
}

/** Gives the address. */
export async function serveHttp({ open, hasSessions = false }: Served): Promise<string> {
  const sessions = new Map<string, Answer>()
  const respond = async (req: IncomingMessage, res: ServerResponse): Promise<unknown> => {
    const id = String(req.headers['mcp-session-id'] ?? '')
    if (req.method === 'DELETE') return res.writeHead(sessions.delete(id) ? 204 : 404).end()
    if (req.method !== 'POST') return res.writeHead(405, { allow: 'POST, DELETE' }).end()
    const message = JSON.parse(await text(req)) as Message
    const isNew = hasSessions && message.method === 'initialize'
    const key = isNew ? randomUUID() : id
    const answer = (hasSessions ? sessions.get(id) : undefined) ?? open()
    if (isNew) sessions.set(key, answer)
    const said = answer(message)
    if (said === undefined) return res.writeHead(202).end()
    return res.writeHead(200, { 'content-type': 'application/json', ...(isNew && { 'mcp-session-id': key }) }).end(said)
  }
  const server = createServer((req, res) => void respond(req, res))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

/** Single requests over `node:http`, for loads in which a flow takes several and its server is slower than this. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { createParser } from 'eventsource-parser'

export interface Exchange {
  port: number
  path: string
  headers: Record<string, string>
  body: string
}

export interface Reply {
  status: number
  headers: IncomingMessage['headers']
  body: string
}

const agent = new Agent({ keepAlive: true })
const LIMIT_MS = 120_000

export async function post(exchange: Exchange): Promise<Reply> {
  const response = await open(exchange)
  let body = ''
  for await (const text of response.setEncoding('utf8')) body += String(text)
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}

/** Calls `onMessage` with each message of a streamed answer, as it comes; resolves at its end. */
export async function postForEvents(exchange: Exchange, onMessage: (message: ServerMessage) => void): Promise<void> {
  const response = await open(exchange)
  const parser = createParser({ onEvent: ({ data }) => data !== '' && onMessage(JSON.parse(data)) })
  for await (const text of response.setEncoding('utf8')) parser.feed(String(text))
}

/** A request or a response of the server, which is not checked yet. */
export interface ServerMessage {
  id?: unknown
  method?: string
  result?: { content?: { text?: string }[] }
}

function open({ port, path, headers, body }: Exchange): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', path, method: 'POST', agent, timeout: LIMIT_MS }
    const sent = request({ ...options, headers: { ...headers, 'content-length': Buffer.byteLength(body) } }, resolve)
    sent.on('error', reject)
    sent.on('timeout', () => sent.destroy(new Error(`No answer within ${LIMIT_MS / 1000} seconds.`)))
    sent.end(body)
  })
}

export function messageIn({ body }: Reply): Record<string, unknown> {
  const text = body.startsWith('{') ? body : (/^data: (\{.*)$/m.exec(body)?.[1] ?? '{}')
  return JSON.parse(text) as Record<string, unknown>
}

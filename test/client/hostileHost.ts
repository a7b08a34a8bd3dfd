/** The hostile server over HTTP: an answer is a stream, and the stream of no request carries questions. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Hostile } from './hostile.ts'

export interface HostileHost {
  readonly url: URL
  close(): void
}

export async function startHostile(): Promise<HostileHost> {
  const hostile = new Hostile()
  const http = createServer((req, res) => {
    const say = (message: object) => res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
    const stream = () => res.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': 's' })
    if (req.method === 'GET') {
      stream()
      return hostile.askUnrelated(say)
    }
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const message = JSON.parse(Buffer.concat(chunks).toString())
      if (message.id === undefined || message.method === undefined) res.writeHead(202)
      else stream()
      void hostile.serve(message, say, () => res.end())
    })
    return undefined
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/`)
  return { url, close: () => (http.closeAllConnections(), void http.close()) }
}

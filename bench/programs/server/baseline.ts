/**
 * The baseline: the cost of `node:http` itself. It reads and parses the body and responds with JSON in the fastest way
 * we know: headers as a flat list, head and body as one string, so that both are sent in one write. It checks nothing.
 */
import { createServer } from 'node:http'
import { serveRequests } from '../ipc.ts'

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const answer = answerTo(textOf(chunks))
    const bytes = Buffer.byteLength(answer)
    response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', String(bytes)])
    response.end(answer, bytes === answer.length ? 'latin1' : 'utf8')
  })
})

function textOf(chunks: Buffer[]): string {
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first.toString() : Buffer.concat(chunks).toString()
}

function answerTo(body: string): string {
  const message = JSON.parse(body)
  const content = [{ type: 'text', text: message.params.arguments.text }]
  return JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { resultType: 'complete', content } })
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  serveRequests({}, typeof address === 'object' && address !== null ? { port: address.port } : {})
})

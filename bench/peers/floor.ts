/**
 * The floor: what `node:http` itself costs. It collects and parses the body and answers JSON in the fastest way we
 * know: head and body as one string, so that both leave in one write. No check of any kind.
 */
import { createServer } from 'node:http'
import { obey } from './control.ts'

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8')
  request.on('data', (chunk: string) => {
    body += chunk
  })
  request.on('end', () => {
    const message = JSON.parse(body)
    const content = [{ type: 'text', text: message.params.arguments.text }]
    const answer = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { resultType: 'complete', content } })
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(answer) })
    response.end(answer)
  })
})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  obey({}, typeof address === 'object' && address !== null ? { port: address.port } : {})
})

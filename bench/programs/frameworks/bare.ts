/** Bare `node:http`, which parses the body and checks nothing. The port is the only argument. */
import { createServer } from 'node:http'

interface Received {
  id: number
  method: string
  params: { arguments: { text: string } }
}

const tools = [{ name: 'echo', description: 'Says it again', inputSchema: { type: 'object' } }]

createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as Received
    const result = method === 'tools/list' ? { tools } : { content: [{ type: 'text', text: params.arguments.text }] }
    const answer = JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } })
    const length = String(Buffer.byteLength(answer))
    response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', length])
    response.end(answer)
  })
}).listen(Number(process.argv[2]), '127.0.0.1')

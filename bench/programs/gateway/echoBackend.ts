/**
 * The server behind all gateways over HTTP: the same answers as the echo server's, at a fraction of its cost, because it
 * shares its core with the load generator. It reads requests from raw sockets and answers each with one write.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { serveRequests } from '../ipc.ts'

const NOTHING = Buffer.alloc(0)
const LISTED = { name: 'echo', description: 'Says it again', inputSchema: { type: 'object' } }
const CACHING = { ttlMs: 3_600_000, cacheScope: 'public' }
const NAMED = { _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'bench', version: '1.0.0' } } }

interface Received {
  id: unknown
  method: string
  params: { arguments?: { text?: string } }
}

function resultOf({ method, params }: Received): object | undefined {
  switch (method) {
    case 'server/discover':
      return { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ...CACHING, ...NAMED }
    case 'tools/list':
      return { tools: [LISTED], ...CACHING, ...NAMED }
    case 'tools/call':
      return { content: [{ type: 'text', text: params.arguments?.text }], ...NAMED }
    default:
      return undefined
  }
}

function answerTo(body: string): string {
  const message = JSON.parse(body) as Received
  const result = resultOf(message)
  const answer = result
    ? { result: { resultType: 'complete', ...result } }
    : { error: { code: -32601, message: 'No.' } }
  const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer })
  const head = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}`
  return `HTTP/1.1 ${result ? '200 OK' : '404 Not Found'}\r\n${head}\r\nConnection: keep-alive\r\n\r\n${text}`
}

/** Takes whole requests from the start of the bytes, and gives what is left. */
function take(bytes: Buffer, socket: Socket): Buffer {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return bytes
  const length = Number(/^content-length: *(\d+)/im.exec(bytes.toString('latin1', 0, headEnd))?.[1] ?? 0)
  const end = headEnd + 4 + length
  if (bytes.length < end) return bytes
  socket.write(answerTo(bytes.toString('utf8', headEnd + 4, end)))
  return end === bytes.length ? NOTHING : take(bytes.subarray(end), socket)
}

const server = createServer({ noDelay: true }, (socket) => {
  let held: Buffer = NOTHING
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    held = take(held.length === 0 ? chunk : Buffer.concat([held, chunk]), socket)
  })
})
server.listen(0, '127.0.0.1', () => serveRequests({}, { port: (server.address() as AddressInfo).port }))

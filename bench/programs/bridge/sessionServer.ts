/**
 * A server of the session era: the official SDK v1 with its HTTP transport, a session for each client. Its tool asks in
 * the middle of the call. It offers no stream beside those of its calls, which the specification allows: with one, ten
 * thousand sessions would need twenty thousand connections.
 */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'
import { serveRequests } from '../ipc.ts'

const PATIENCE_MS = 3_600_000
const sessions = new Map<string, StreamableHTTPServerTransport>()

function buildServer(): McpServer {
  const server = new McpServer({ name: 'bench', version: '1.0.0' })
  const about = { description: 'Says it again once confirmed', inputSchema: { text: z.string() } }
  server.registerTool('confirm', about, async ({ text }, { requestId }) => {
    const requestedSchema = { type: 'object' as const, properties: { ok: { type: 'boolean' as const } } }
    const onItsStream = { relatedRequestId: requestId, timeout: PATIENCE_MS }
    const asked = await server.server.elicitInput({ message: `Say "${text}"?`, requestedSchema }, onItsStream)
    const isConfirmed = asked.action === 'accept' && asked.content?.['ok'] === true
    return { content: [{ type: 'text', text: isConfirmed ? text : 'Not confirmed' }] }
  })
  return server
}

async function openSession(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  })
  await buildServer().connect(transport)
  return transport
}

const http = createServer((req, res) => {
  if (req.method === 'GET') return void res.writeHead(405, { allow: 'POST, DELETE' }).end()
  const id = req.headers['mcp-session-id']
  const known = sessions.get(String(id))
  if (known !== undefined) return void known.handleRequest(req, res)
  if (id !== undefined) return void res.writeHead(404).end()
  void openSession().then((transport) => transport.handleRequest(req, res))
})
http.requestTimeout = 0
http.keepAliveTimeout = 65_000 // a gateway on a busy machine could send a request while its connection is being closed
http.listen(0, '127.0.0.1', () => serveRequests({}, { port: (http.address() as AddressInfo).port }))

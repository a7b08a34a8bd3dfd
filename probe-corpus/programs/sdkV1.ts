/** A server of the official SDK v1 that keeps nothing between calls, served as the first argument says. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'

const [mode = 'stdio', port = '0'] = process.argv.slice(2)
const enableJsonResponse = mode.endsWith('json')
const sessions = new Map<string, StreamableHTTPServerTransport>()
const streams = new Map<string, SSEServerTransport>()

async function serve(transport: Transport): Promise<void> {
  const server = new McpServer({ name: 'sdk1', version: '1.0.0' })
  server.registerTool('hello', { description: 'Says hello.' }, () => ({ content: [{ type: 'text', text: 'Hello.' }] }))
  await server.connect(transport)
}

async function stateless(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse })
  await serve(transport)
  await transport.handleRequest(req, res)
}

async function inSessions(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const known = sessions.get(String(req.headers['mcp-session-id']))
  if (known !== undefined) return known.handleRequest(req, res)
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  })
  await serve(transport)
  await transport.handleRequest(req, res)
}

async function onStreams(req: IncomingMessage, res: ServerResponse): Promise<unknown> {
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://127.0.0.1')
  const known = streams.get(searchParams.get('sessionId') ?? '')
  if (req.method === 'POST' && pathname === '/messages') {
    return known === undefined ? res.writeHead(404).end('No such session') : known.handlePostMessage(req, res)
  }
  if (req.method !== 'GET') return res.writeHead(404).end()
  const transport = new SSEServerTransport('/messages', res)
  streams.set(transport.sessionId, transport)
  return serve(transport)
}

const answer = mode === 'sse' ? onStreams : mode.startsWith('sessions') ? inSessions : stateless
if (mode === 'stdio') await serve(new StdioServerTransport())
else createServer((req, res) => void answer(req, res)).listen(Number(port), '127.0.0.1')

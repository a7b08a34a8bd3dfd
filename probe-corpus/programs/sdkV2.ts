/** A server of the official SDK v2 that keeps nothing between calls, served as the first argument says. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, type CreateMcpHandlerOptions, McpServer } from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'

const [mode = 'stdio', port = '0'] = process.argv.slice(2)
const enableJsonResponse = mode.endsWith('json')
const sessions = new Map<string, NodeStreamableHTTPServerTransport>()

function hello(): McpServer {
  const server = new McpServer({ name: 'sdk2', version: '1.0.0' })
  server.registerTool('hello', { description: 'Says hello.' }, () => ({ content: [{ type: 'text', text: 'Hello.' }] }))
  return server
}

async function stateless(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse })
  await hello().connect(transport)
  await transport.handleRequest(req, res)
}

async function inSessions(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const known = sessions.get(String(req.headers['mcp-session-id']))
  if (known !== undefined) return known.handleRequest(req, res)
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  })
  await hello().connect(transport)
  await transport.handleRequest(req, res)
}

type Answer = (req: IncomingMessage, res: ServerResponse) => Promise<void>

/** Both eras, or the newer alone. */
function handler(options: CreateMcpHandlerOptions): Answer {
  return toNodeHandler(createMcpHandler(hello, options)) as Answer
}

const ANSWERS: Readonly<Record<string, () => Answer>> = {
  'handler-json': () => handler({ responseMode: 'json' }),
  'handler-sse': () => handler({ responseMode: 'sse' }),
  'handler-reject': () => handler({ legacy: 'reject' }),
  'stateless-json': () => stateless,
  'stateless-sse': () => stateless,
  'sessions-json': () => inSessions,
  'sessions-sse': () => inSessions,
}

const answer = ANSWERS[mode]?.()
if (mode === 'stdio') serveStdio(hello)
else if (mode === 'stdio-reject') serveStdio(hello, { legacy: 'reject' })
else if (mode === 'stdio-older') await hello().connect(new StdioServerTransport())
else createServer((req, res) => void answer?.(req, res)).listen(Number(port), '127.0.0.1')

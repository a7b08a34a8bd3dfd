/** An official SDK v2 server on node:http: `/modern` by its `createMcpHandler`, `/legacy` in sessions. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server'

export interface SdkHost {
  readonly modern: URL
  readonly legacy: URL
  close(): Promise<void>
}

export async function startSdkHost(makeServer: () => McpServer): Promise<SdkHost> {
  const handler = createMcpHandler(makeServer, { legacy: 'reject' })
  const modern = toNodeHandler(handler) as (req: IncomingMessage, res: ServerResponse) => Promise<void>
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>()
  const http = createServer((req, res) => {
    Object.assign(req, { auth: caller(req) })
    void (req.url === '/modern' ? modern(req, res) : serveSession(sessions, makeServer, req, res))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  return {
    modern: new URL(`http://127.0.0.1:${port}/modern`),
    legacy: new URL(`http://127.0.0.1:${port}/legacy`),
    async close() {
      await handler.close()
      for (const session of sessions.values()) await session.close()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

/** Whoever the bearer token says; enough for a test. */
function caller(req: IncomingMessage) {
  const token = req.headers.authorization?.replace('Bearer ', '')
  return token === undefined ? undefined : { token, clientId: token, scopes: [] }
}

async function serveSession(
  sessions: Map<string, NodeStreamableHTTPServerTransport>,
  makeServer: () => McpServer,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const known = sessions.get(String(req.headers['mcp-session-id']))
  if (known !== undefined) return known.handleRequest(req, res)
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  })
  await makeServer().connect(transport)
  await transport.handleRequest(req, res)
}

/** A gateway made of the official SDK: its server before, and its client to the server behind, as its documentation shows. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { serveRequests } from '../ipc.ts'
import { type GatewayRole, readRole } from '../role.ts'

const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
await client.connect(new StreamableHTTPClientTransport(new URL(readRole<GatewayRole>().server ?? '')))

function buildServer(): Server {
  const server = new Server({ name: 'bench', version: '1.0.0' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => client.listTools())
  server.setRequestHandler('tools/call', ({ params: { name, arguments: args } }) =>
    client.callTool({ name, ...(args && { arguments: args }) }),
  )
  return server
}

// Its parameter types miss `| undefined` under exactOptionalPropertyTypes.
const handler = toNodeHandler(createMcpHandler(buildServer)) as RequestListener
const validateHost = localhostHostValidation()
const validateOrigin = localhostOriginValidation()
const http = createServer((request, response) => {
  if (!validateHost(request, response) || !validateOrigin(request, response)) return
  handler(request, response)
})
http.listen(0, '127.0.0.1', () => serveRequests({}, { port: (http.address() as AddressInfo).port }))

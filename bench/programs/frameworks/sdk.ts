/** The official SDK v2, as its documentation shows. The port is the only argument. */
import { createServer, type RequestListener } from 'node:http'
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod/v4'

// Its parameter types miss `| undefined` under exactOptionalPropertyTypes.
const handler = toNodeHandler(
  createMcpHandler(() => {
    const server = new McpServer({ name: 'bench', version: '1.0.0' })
    const inputSchema = z.object({ text: z.string() })
    server.registerTool('echo', { description: 'Says it again', inputSchema }, async ({ text }) => ({
      content: [{ type: 'text', text }],
    }))
    return server
  }),
) as RequestListener
const validHost = localhostHostValidation()
const validOrigin = localhostOriginValidation()
createServer((request, response) => {
  if (validHost(request, response) && validOrigin(request, response)) handler(request, response)
}).listen(Number(process.argv[2]), '127.0.0.1')

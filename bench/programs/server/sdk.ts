/** The official SDK v2, used as its documentation shows (docs/serving, docs/servers/input-required). */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node'
import {
  acceptedContent,
  type CallToolResult,
  createMcpHandler,
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  McpServer,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod/v4'
import type { Limit } from '../../load/load.ts'
import { echoName } from '../../load/messages.ts'
import { serveRequests } from '../ipc.ts'
import { fetchLoop } from './fetchLoop.ts'
import { readRole, type ServerRole } from '../role.ts'

const role = readRole<ServerRole>()
const stateCodec = createRequestStateCodec<{ step: string }>({ key: crypto.getRandomValues(new Uint8Array(32)) })
const inputSchema = z.object({ text: z.string() })
const confirmation = z.object({ ok: z.boolean() })

function buildServer(): McpServer {
  const server = new McpServer({ name: 'bench', version: '1.0.0' }, { requestState: { verify: stateCodec.verify } })
  if (role.tool === 'confirm') registerConfirm(server)
  else for (let index = 0; index < role.registered; index++) registerEcho(server, echoName(index, role.registered))
  return server
}

function registerEcho(server: McpServer, name: string): void {
  server.registerTool(name, { description: 'Says it again', inputSchema }, async ({ text }) => ({
    content: [{ type: 'text', text }],
  }))
}

function registerConfirm(server: McpServer): void {
  const about = { description: 'Says it again once confirmed', inputSchema }
  server.registerTool('confirm', about, async ({ text }, ctx): Promise<CallToolResult | InputRequiredResult> => {
    const state = ctx.mcpReq.requestState<{ step: string }>()
    const confirmed = acceptedContent(ctx.mcpReq.inputResponses, 'confirm', confirmation)
    if (state?.step !== 'asked' || confirmed?.ok !== true) {
      const confirm = inputRequired.elicit({ message: `Say "${text}"?`, requestedSchema: confirmation })
      return inputRequired({
        inputRequests: { confirm },
        requestState: await stateCodec.mint({ step: 'asked' }),
      })
    }
    return { content: [{ type: 'text', text }] }
  })
}

if (role.transport === 'stdio') {
  serveStdio(buildServer)
  serveRequests({})
} else if (role.transport === 'fetch') {
  const handler = createMcpHandler(buildServer)
  serveRequests({ fetch: (limit: Limit) => fetchLoop(handler.fetch, limit) })
} else {
  // Its parameter types miss `| undefined` under exactOptionalPropertyTypes.
  const handler = toNodeHandler(createMcpHandler(buildServer)) as RequestListener
  const validateHost = localhostHostValidation()
  const validateOrigin = localhostOriginValidation()
  const http = createServer((request, response) => {
    if (!validateHost(request, response) || !validateOrigin(request, response)) return
    handler(request, response)
  })
  http.listen(0, '127.0.0.1', () => serveRequests({}, { port: (http.address() as AddressInfo).port }))
}

/** A server of the official SDK v2 whose tool asks twice by results, and once more by a state alone. */
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'

const nameForm = z.object({ name: z.string() })

export function makeSdkServer(): McpServer {
  const server = new McpServer({ name: 'sdk', version: '2' }, { capabilities: { tools: { listChanged: true } } })
  server.registerTool('greet', { description: 'Asks for two names.', inputSchema: z.object({}) }, (_, ctx) => {
    const state = ctx.mcpReq.requestState<string>()
    const given = acceptedContent(ctx.mcpReq.inputResponses, 'name', nameForm)
    const ask = (message: string) => ({ name: inputRequired.elicit({ message, requestedSchema: nameForm }) })
    if (given === undefined && state === undefined) return inputRequired({ inputRequests: ask('Who is there?') })
    if (given !== undefined && state === undefined) {
      return inputRequired({ inputRequests: ask('And who else?'), requestState: `first "${given.name}"` })
    }
    if (given !== undefined) return inputRequired({ requestState: `${state} second "${given.name}"` })
    return { content: [{ type: 'text', text: `Hello, ${state}` }] }
  })
  server.registerTool('plain', { description: 'Asks nothing.', inputSchema: z.object({}) }, () => ({
    content: [{ type: 'text', text: 'plain' }],
  }))
  return server
}

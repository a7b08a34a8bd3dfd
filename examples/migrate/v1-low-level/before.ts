/** A server of the official SDK, version 1, that answers the methods itself. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema, type Tool } from '@modelcontextprotocol/sdk/types.js'

const ADD: Tool = {
  name: 'add',
  description: 'Adds two numbers',
  inputSchema: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
}

const NOW: Tool = { name: 'year', description: 'Tells the year of this example', inputSchema: { type: 'object' } }

const server = new Server({ name: 'calculator', version: '1.0.0' }, { capabilities: { tools: {} } })

server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [ADD, NOW] }))

server.setRequestHandler(CallToolRequestSchema, async (request) => {
  const { name, arguments: args } = request.params
  switch (name) {
    case 'add':
      return { content: [{ type: 'text', text: String(Number(args?.['a']) + Number(args?.['b'])) }] }
    case 'year':
      return { content: [{ type: 'text', text: '2026' }] }
    default:
      throw new Error(`There is no tool ${name}.`)
  }
})
async function main(): Promise<void> {
  await server.connect(new StdioServerTransport())
}

await main()

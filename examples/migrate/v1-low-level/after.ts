/** A server of the official SDK, version 1, that answers the methods itself. */
import { type ToolOptions, createServer } from 'pannier/server'
import type { CallToolResult, Tool } from '@modelcontextprotocol/client'

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

const server = createServer({ name: 'calculator', version: '1.0.0' })

const callTool = async (request: {
  params: { name: string; arguments?: Record<string, unknown> }
}): Promise<CallToolResult> => {
  const { name, arguments: args } = request.params
  switch (name) {
    case 'add':
      return { content: [{ type: 'text', text: String(Number(args?.['a']) + Number(args?.['b'])) }] }
    case 'year':
      return { content: [{ type: 'text', text: '2026' }] }
    default:
      throw new Error(`There is no tool ${name}.`)
  }
}
for (const { name, description = name, inputSchema, outputSchema, ...rest } of [ADD, NOW] as Tool[]) {
  const options = { ...rest, description, input: inputSchema, ...(outputSchema && { output: outputSchema }) }
  server.tool(name, options as ToolOptions<Tool['inputSchema']>, (args) =>
    callTool({ params: { name, arguments: args } }),
  )
}
async function main(): Promise<void> {
  await server.stdio()
}

await main()

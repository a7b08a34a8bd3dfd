/** A server of the official SDK, version 1, as `npx pannier-migrate` finds it. */
// #region imports
import { completable } from '@modelcontextprotocol/sdk/server/completable.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
// #endregion imports

const tickets = new Map([
  ['1', 'The door sticks'],
  ['2', 'The lamp is broken'],
])

const server = new McpServer(
  { name: 'tickets', version: '1.0.0' },
  { capabilities: { tools: {}, logging: {} }, instructions: 'Read a ticket before you close it.' },
)

// A comment that stays where it is.
server.tool('read_ticket', 'Reads a ticket', { id: z.string() }, { readOnlyHint: true }, async ({ id }) => ({
  content: [{ type: 'text', text: tickets.get(id) ?? 'There is no such ticket.' }],
}))

server.registerTool(
  'count_tickets',
  {
    description: 'Counts the tickets',
    outputSchema: { count: z.number() },
  },
  async (extra) => {
    await extra.sendNotification({
      method: 'notifications/message',
      params: { level: 'info', data: 'counting' },
    })
    const structuredContent = { count: tickets.size }
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
  },
)

// #region ask
server.registerTool(
  'close_ticket',
  { description: 'Closes a ticket once somebody agrees', inputSchema: { id: z.string() } },
  async ({ id }): Promise<CallToolResult> => {
    const answer = await server.server.elicitInput({
      message: `Close ticket ${id}?`,
      requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] },
    })
    const isSure = answer.action === 'accept' && answer.content?.['sure'] === true
    return { content: [{ type: 'text', text: isSure ? `Ticket ${id} is closed.` : 'Left as it was.' }] }
  },
)
// #endregion ask

server.registerTool(
  'summarize',
  { description: 'Lets the model of the client summarize a ticket', inputSchema: { id: z.string() } },
  async ({ id }, extra) => {
    const progressToken = extra._meta?.progressToken
    if (progressToken !== undefined) {
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress: 1, total: 2, message: 'asking the model' },
      })
    }
    const summary = await server.server.createMessage({
      messages: [{ role: 'user', content: { type: 'text', text: `Summarize: ${tickets.get(id)}` } }],
      maxTokens: 50,
    })
    return { content: [{ type: 'text', text: `${summary.model} has answered.` }] }
  },
)

server.registerPrompt(
  'triage',
  {
    description: 'Sorts a ticket',
    argsSchema: {
      team: completable(z.string(), (value) => ['doors', 'lamps'].filter((team) => team.startsWith(value))),
    },
  },
  ({ team }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Is this for the team ${team}?` } }] }),
)

server.registerResource(
  'all',
  'tickets://all',
  { description: 'All tickets', mimeType: 'text/plain' },
  async (uri) => ({ contents: [{ uri: uri.href, text: [...tickets.values()].join('\n') }] }),
)

server.registerResource(
  'ticket',
  new ResourceTemplate('tickets://{id}', { list: undefined }),
  { description: 'One ticket' },
  async (uri, { id }) => ({ contents: [{ uri: uri.href, text: `${uri.protocol} ${tickets.get(String(id))}` }] }),
)

// #region serve
const transport = new StdioServerTransport()
await server.connect(transport)
console.error('The tickets are served.')
// #endregion serve

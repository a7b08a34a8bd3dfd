/** A server of the official SDK, version 1, as `npx pannier-migrate` finds it. */
// #region imports
import { createServer } from 'pannier/server'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { z } from 'zod'
// #endregion imports

const tickets = new Map([
  ['1', 'The door sticks'],
  ['2', 'The lamp is broken'],
])

const server = createServer({ name: 'tickets', version: '1.0.0', instructions: 'Read a ticket before you close it.' })

// A comment that stays where it is.
server.tool(
  'read_ticket',
  { description: 'Reads a ticket', input: z.object({ id: z.string() }), annotations: { readOnlyHint: true } },
  async ({ id }) => ({
    content: [{ type: 'text', text: tickets.get(id) ?? 'There is no such ticket.' }],
  }),
)

server.tool(
  'count_tickets',
  {
    description: 'Counts the tickets',
    output: z.object({ count: z.number() }),
  },
  async (_args, extra) => {
    extra.log('info', 'counting')
    const structuredContent = { count: tickets.size }
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
  },
)

// #region ask
server.tool(
  'close_ticket',
  { description: 'Closes a ticket once somebody agrees', input: z.object({ id: z.string() }) },
  async ({ id }, ctx): Promise<CallToolResult> => {
    const answer = await ctx.elicit('answer', {
      message: `Close ticket ${id}?`,
      schema: { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] },
    })
    const isSure = answer.action === 'accept' && answer.content?.['sure'] === true
    return { content: [{ type: 'text', text: isSure ? `Ticket ${id} is closed.` : 'Left as it was.' }] }
  },
)
// #endregion ask

server.tool(
  'summarize',
  { description: 'Lets the model of the client summarize a ticket', input: z.object({ id: z.string() }) },
  async ({ id }, extra) => {
    const progressToken = extra.meta?.progressToken
    if (progressToken !== undefined) {
      extra.progress(1, 2, 'asking the model')
    }
    const summary = await extra.sample('summary', {
      messages: [{ role: 'user', content: { type: 'text', text: `Summarize: ${tickets.get(id)}` } }],
      maxTokens: 50,
    })
    return { content: [{ type: 'text', text: `${summary.model} has answered.` }] }
  },
)

server.prompt(
  'triage',
  {
    description: 'Sorts a ticket',
    input: z.object({
      team: z.string(),
    }),
  },
  ({ team }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Is this for the team ${team}?` } }] }),
)
server.completion({ prompt: 'triage', argument: 'team' }, (value) =>
  ['doors', 'lamps'].filter((team) => team.startsWith(value)),
)

server.resource('tickets://all', { name: 'all', description: 'All tickets', mimeType: 'text/plain' }, async (uri) => ({
  contents: [{ uri: uri, text: [...tickets.values()].join('\n') }],
}))

server.resourceTemplate('tickets://{id}', { name: 'ticket', description: 'One ticket' }, async (uri, { id }) => ({
  contents: [{ uri: uri, text: `${new URL(uri).protocol} ${tickets.get(String(id))}` }],
}))

// #region serve
void server.stdio()
console.error('The tickets are served.')
// #endregion serve

/** A server of the official SDK, version 2, as `npx pannier-migrate` finds it. */
// #region imports
import type { CallToolResult } from '@modelcontextprotocol/server'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod'
// #endregion imports

const rooms = ['blue', 'green']

// #region ask
function buildServer(): McpServer {
  const server = new McpServer({ name: 'rooms', version: '1.0.0' })

  server.registerTool(
    'book_room',
    { description: 'Books a room once somebody agrees', inputSchema: z.object({ room: z.string() }) },
    async ({ room }, ctx): Promise<CallToolResult> => {
      const answer = await ctx.mcpReq.elicitInput({
        mode: 'form',
        message: `Book the ${room} room?`,
        requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] },
      })
      if (answer.action !== 'accept' || answer.content?.['sure'] !== true)
        return { content: [{ type: 'text', text: 'Left as it was.' }] }
      return { content: [{ type: 'text', text: `The ${room} room is booked.` }] }
    },
  )
  // #endregion ask

  server.registerTool(
    'list_rooms',
    { description: 'Lists the rooms', outputSchema: z.object({ rooms: z.array(z.string()) }) },
    async (ctx) => {
      await ctx.mcpReq.log('info', 'listing')
      if (ctx.mcpReq.signal.aborted) return { content: [], isError: true }
      return { content: [{ type: 'text', text: rooms.join(', ') }], structuredContent: { rooms } }
    },
  )

  server.registerPrompt(
    'party',
    { description: 'Plans a party', argsSchema: z.object({ guests: z.string() }) },
    ({ guests }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `A party for ${guests}` } }] }),
  )

  server.registerResource('rooms', 'rooms://all', { mimeType: 'text/plain' }, async (uri) => ({
    contents: [{ uri: uri.href, text: rooms.join('\n') }],
  }))

  return server
}

// #region serve
void serveStdio(buildServer)
// #endregion serve

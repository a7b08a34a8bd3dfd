/** A server of the official SDK, version 2, as `npx pannier-migrate` finds it. */
// #region imports
import { type Server, createServer } from 'pannier/server'
import type { CallToolResult } from '@modelcontextprotocol/client'
import * as z from 'zod'
// #endregion imports

const rooms = ['blue', 'green']

// #region ask
function buildServer(): Server {
  const server = createServer({ name: 'rooms', version: '1.0.0' })

  server.tool(
    'book_room',
    { description: 'Books a room once somebody agrees', input: z.object({ room: z.string() }) },
    async ({ room }, ctx): Promise<CallToolResult> => {
      const answer = await ctx.elicit('answer', {
        mode: 'form',
        message: `Book the ${room} room?`,
        schema: { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] },
      })
      if (answer.action !== 'accept' || answer.content?.['sure'] !== true)
        return { content: [{ type: 'text', text: 'Left as it was.' }] }
      return { content: [{ type: 'text', text: `The ${room} room is booked.` }] }
    },
  )
  // #endregion ask

  server.tool(
    'list_rooms',
    { description: 'Lists the rooms', output: z.object({ rooms: z.array(z.string()) }) },
    async (_args, ctx) => {
      ctx.log('info', 'listing')
      if (ctx.signal.aborted) return { content: [], isError: true }
      return { content: [{ type: 'text', text: rooms.join(', ') }], structuredContent: { rooms } }
    },
  )

  server.prompt('party', { description: 'Plans a party', input: z.object({ guests: z.string() }) }, ({ guests }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `A party for ${guests}` } }],
  }))

  server.resource('rooms://all', { name: 'rooms', mimeType: 'text/plain' }, async (uri) => ({
    contents: [{ uri: uri, text: rooms.join('\n') }],
  }))

  return server
}

// #region serve
void buildServer().stdio()
// #endregion serve

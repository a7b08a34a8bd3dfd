// As the README of @tmcp/transport-http shows, with srvx as the HTTP server.
import { ZodJsonSchemaAdapter } from '@tmcp/adapter-zod'
import { HttpTransport } from '@tmcp/transport-http'
import { serve } from 'srvx'
import { McpServer } from 'tmcp'
import { z } from 'zod'

const server = new McpServer(
  { name: 'bench', version: '1.0.0', description: 'Says it again' },
  { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: { listChanged: true } } },
)
const schema = z.object({ text: z.string() })
server.tool({ name: 'echo', description: 'Says it again', schema }, async ({ text }) => ({
  content: [{ type: 'text', text }],
}))

const transport = new HttpTransport(server)
serve({
  port: Number(process.argv[2]),
  hostname: '127.0.0.1',
  silent: true,
  fetch: async (request) => (await transport.respond(request)) ?? new Response(null, { status: 404 }),
})

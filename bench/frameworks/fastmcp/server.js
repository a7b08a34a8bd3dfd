// As "HTTP Streaming" of the README shows: revision 2025-11-25, with sessions.
import { FastMCP } from 'fastmcp'
import { z } from 'zod'

const server = new FastMCP({ name: 'bench', version: '1.0.0' })
const parameters = z.object({ text: z.string() })
server.addTool({ name: 'echo', description: 'Says it again', parameters, execute: async ({ text }) => text })

await server.start({ transportType: 'httpStream', httpStream: { port: Number(process.argv[2]), host: '127.0.0.1' } })

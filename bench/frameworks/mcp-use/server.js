// As "Register a tool" of the documentation shows.
import { MCPServer } from 'mcp-use'
import { z } from 'zod'

const server = new MCPServer({ name: 'bench', version: '1.0.0' })
const inputSchema = z.object({ text: z.string() })
server.tool({ name: 'echo', description: 'Says it again', inputSchema }, async ({ text }) => ({
  content: [{ type: 'text', text }],
}))

await server.listen(Number(process.argv[2]))

/** A server of mcp-use that keeps nothing between calls. */
import { MCPServer } from 'mcp-use'

const server = new MCPServer({ name: 'mcp-use', version: '1.0.0', host: '127.0.0.1' })
server.tool({ name: 'hello', description: 'Says hello.' }, async () => ({
  content: [{ type: 'text', text: 'Hello.' }],
}))
await server.listen(Number(process.argv[2]))

/** A server of fastmcp that keeps nothing between calls, served as the first argument says. */
import { FastMCP } from 'fastmcp'

const [mode = 'stdio', port = '0'] = process.argv.slice(2)
const server = new FastMCP({ name: 'fastmcp', version: '1.0.0' })
server.addTool({ name: 'hello', description: 'Says hello.', execute: async () => 'Hello.' })

if (mode === 'stdio') await server.start({ transportType: 'stdio' })
else {
  const httpStream = { host: '127.0.0.1', port: Number(port), stateless: mode === 'stateless' }
  await server.start({ transportType: 'httpStream', httpStream })
}

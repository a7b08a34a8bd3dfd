/** The program `mcp-proxy` from npm, as it is: a stdio server behind HTTP. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { serveRequests } from '../ipc.ts'
import { type GatewayRole, readRole } from '../role.ts'

const { program = '', command = [] } = readRole<GatewayRole>()
const port = await freePort()
const options = ['--host', '127.0.0.1', '--port', String(port), '--server', 'stream']
process.argv = [process.execPath, program, ...options, '--', ...command]
await import(program)
while (!(await listens(port))) await sleep(50)
serveRequests({}, { port })

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: free } = server.address() as AddressInfo
  server.close()
  return free
}

async function listens(at: number): Promise<boolean> {
  const socket = connect(at, '127.0.0.1')
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  }).finally(() => socket.destroy()) as Promise<boolean>
}

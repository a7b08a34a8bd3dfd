/** The checked servers in Deno. */
import { checkedServers, type Given } from './checked.ts'

interface Deno {
  serve(options: object, handler: (request: Request) => Promise<Response>): unknown
}

const { fetch } = checkedServers(JSON.parse(process.env['GIVEN'] ?? '') as Given)
const { Deno } = globalThis as unknown as { Deno: Deno }
const onListen = ({ port }: { port: number }): void => console.log(JSON.stringify({ base: `http://127.0.0.1:${port}` }))
Deno.serve({ port: 0, hostname: '127.0.0.1', onListen }, fetch)

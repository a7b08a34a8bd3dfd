/** The checked servers in Bun. */
import { checkedServers, type Given } from './checked.ts'

interface Bun {
  serve(options: object): { port: number }
}

const { fetch } = checkedServers(JSON.parse(process.env['GIVEN'] ?? '') as Given)
const { Bun } = globalThis as unknown as { Bun: Bun }
const { port } = Bun.serve({ fetch, port: 0, hostname: '127.0.0.1', idleTimeout: 0 })
console.log(JSON.stringify({ base: `http://127.0.0.1:${port}` }))

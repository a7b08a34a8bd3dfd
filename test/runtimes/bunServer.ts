/** The server that bun.test.ts starts in Bun, as the argument says: by `listen`, or by `Bun.serve` with its defaults. */
import { z } from 'zod'
import { restaurant } from '../../examples/mount/restaurant.ts'

interface Bun {
  serve(options: { fetch: (request: Request) => Promise<Response>; port: number; hostname: string }): { port: number }
}

const server = restaurant()
const input = z.object({ ms: z.number() })
server.tool('simmer', { description: 'Reports once, then is silent.', input }, async ({ ms }, ctx) => {
  ctx.progress(1, 2)
  await new Promise((resolve) => setTimeout(resolve, ms))
  return 'Done.'
})

console.log(process.argv[2] === 'listen' ? (await server.listen()).url : serve())

function serve(): string {
  const { Bun } = globalThis as unknown as { Bun: Bun }
  const { port } = Bun.serve({ fetch: server.fetch, port: 0, hostname: '127.0.0.1' })
  process.once('SIGTERM', () => void server.drain().then(() => process.exit()))
  return `http://127.0.0.1:${port}/mcp`
}

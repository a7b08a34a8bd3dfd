/** Pannier, as its README shows. The port is the only argument. */
import { createServer } from 'pannier/server'
import * as z from 'zod'

const server = createServer({ name: 'bench', version: '1.0.0' })
const input = z.object({ text: z.string() })
server.tool('echo', { description: 'Says it again', input }, async ({ text }) => text)
await server.listen({ port: Number(process.argv[2]) })

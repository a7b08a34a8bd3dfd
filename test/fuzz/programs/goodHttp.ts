/** A server that does nothing wrong. Prints its address. */
import { createServer } from 'pannier/server'
import { z } from 'zod'

const server = createServer({ name: 'good', version: '1' })
const input = z.object({ a: z.number(), b: z.number() })
server.tool('add', { description: 'Adds.', input }, ({ a, b }) => `${a + b}`)
console.log((await server.listen()).url)
process.stdin.resume().on('end', () => process.exit(0))

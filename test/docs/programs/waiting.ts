/** An instance at the given port whose tool asks. Says its address in its first line. */
import { createServer } from 'pannier/server'
import { z } from 'zod'

const server = createServer({ name: 'waiting', version: '1.0.0' })
server.tool('order', { description: 'Asks for a name.' }, async (_, ctx) => {
  const { name } = await ctx.ask('name', { message: 'For whom?', schema: z.object({ name: z.string() }) })
  return `For ${name}.`
})
const { url } = await server.listen({ port: Number(process.env['PORT']) })
process.stdout.write(`${url}\n`)

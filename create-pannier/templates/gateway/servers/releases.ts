/** A server over HTTP. */
import { createServer } from 'pannier/server'
import * as z from 'zod'

export const server = createServer({ name: 'releases', version: '0.1.0' })

server.tool('release', { description: 'Makes a release.' }, async (_, ctx) => {
  const { tag } = await ctx.ask('tag', { message: 'Which version?', schema: z.object({ tag: z.string() }) })
  return `Released ${tag}.` // your own work goes here
})

export const { url } = await server.listen({ port: Number(process.env['PORT'] ?? 3000) })

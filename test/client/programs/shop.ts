/**
 * A shop that asks twice before it ships. Says its address in its first line. DAYS moves its clock; DONE names the file in
 * which it writes what it did.
 */
import { appendFileSync } from 'node:fs'
import { createServer } from 'pannier/server'
import { z } from 'zod'

const { PORT = '0', DAYS = '0', DONE = '' } = process.env
const DAY_MS = 86_400_000
const server = createServer({
  name: 'shop',
  version: '1.0.0',
  ttlSeconds: 7 * 86_400,
  clock: () => Date.now() + Number(DAYS) * DAY_MS,
})

const size = { message: 'Which size?', schema: z.object({ size: z.enum(['small', 'large']) }) }

server.tool('order', { description: 'Orders.', input: z.object({ item: z.string() }) }, async ({ item }, ctx) => {
  const [{ size: chosen }, folders] = await Promise.all([ctx.ask('size', size), ctx.roots('where')])
  const number = await ctx.step('reserve', () => {
    appendFileSync(DONE, `reserved ${item}\n`)
    return 42
  })
  const confirm = {
    message: `Ship a ${chosen} ${item} to ${folders.length} folders?`,
    schema: z.object({ sure: z.boolean() }),
  }
  const { sure } = await ctx.ask('confirm', confirm)
  return sure ? `Order ${number}: ${chosen} ${item}` : 'Nothing was ordered.'
})

const { url } = await server.listen({ port: Number(PORT) })
process.stdout.write(`${url}\n`)

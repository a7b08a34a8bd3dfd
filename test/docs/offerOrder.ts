/** A tool that asks twice, for the tests of calls that are put to sleep. */
import type { Server } from 'pannier/server'
import { z } from 'zod'

export const size = { message: 'Which size?', schema: z.object({ size: z.enum(['small', 'large']) }) }

export function offerOrder(server: Server): Server {
  return server.tool('order', { description: 'Orders.', input: z.object({ item: z.string() }) }, async (args, ctx) => {
    const { size: chosen } = await ctx.ask('size', size)
    const confirm = { message: `A ${chosen} ${args.item}?`, schema: z.object({ sure: z.boolean() }) }
    const { sure: agreed } = await ctx.ask('confirm', confirm)
    return agreed ? `Ordered a ${chosen} ${args.item}.` : 'Ordered nothing.'
  })
}

/** A server that keeps nothing, for places where nothing stays: what a call knows travels with it. */
import { createServer, type ModernServerOptions, type Server } from 'pannier/modern'
import * as z from 'zod'

const amount = z.object({ amount: z.int().min(1) })
const sure = z.object({ sure: z.boolean() })

// #region orders
/** Each instance makes the server once. The keys are the same for all of them. */
export function orders(options: Pick<ModernServerOptions, 'keys'> = {}): Server {
  const server = createServer({ name: 'orders', version: '1.0.0', maxStreamSeconds: 20, ...options })

  const input = z.object({ item: z.string() })
  server.tool('order', { description: 'Orders something.', input }, async ({ item }, ctx) => {
    const { amount: pieces } = await ctx.ask('amount', { message: `How many ${item}?`, schema: amount })
    const { sure: agreed } = await ctx.ask('sure', { message: `Order ${pieces} ${item}?`, schema: sure })
    return agreed ? `Ordered ${pieces} ${item}.` : 'Nothing ordered.'
  })

  return server
}
// #endregion orders

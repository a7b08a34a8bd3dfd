/** One instance of `npm run demo -- shedding`: a computation that another instance may continue at each checkpoint. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer } from 'pannier/server'
import * as z from 'zod'

const { INSTANCE: name = 'A', MAX_IN_FLIGHT: most, CALLS: expected = '0' } = process.env
// An instance never outlives the process that started it.
process.on('disconnect', () => process.exit())

const server = createServer({
  name: 'prices',
  title: `Instance ${name}`,
  version: '1.0.0',
  ...(most !== undefined && { maxInFlight: Number(most) }),
})

// #region tool
const input = z.object({ shop: z.string() })
server.tool('compare', { description: 'Compares prices.', input }, async ({ shop }, ctx) => {
  const parts: string[] = []
  for (const goods of ['bread', 'milk', 'salt', 'tea']) {
    await ctx.checkpoint() // too many calls here: another instance continues, with the steps that are done
    const part = await ctx.step(goods, async () => {
      await work(shop) // your own work goes here
      return `${goods} by ${name}`
    })
    parts.push(part)
  }
  return `${shop}: ${parts.join(', ')}.`
})
// #endregion tool

async function work(shop: string): Promise<void> {
  await allHere(shop)
  await sleep(100)
}

/** For the demo alone: no work begins before all calls are here, so that each run of it shows the same. */
const shops = new Set<string>()
const begun = Promise.withResolvers<void>()
function allHere(shop: string): Promise<void> | undefined {
  if (shops.size >= Number(expected)) return undefined
  process.send?.({ here: shop })
  shops.add(shop)
  if (shops.size === Number(expected)) begun.resolve()
  return begun.promise
}

const { url } = await server.listen({ port: 0 })
process.send?.({ url })

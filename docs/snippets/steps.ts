/** The tools of docs/how-to/steps-and-once.md. */
// #region imports
import { createServer, type Server } from 'pannier/server'
import { type Ledger, sqliteLedger } from 'pannier/state'
import * as z from 'zod'

/** What the tools act on; the tests count its calls. */
export interface Shop {
  reserve(item: string): Promise<{ reservation: string }>
  charge(amount: number, idempotencyKey: string): Promise<{ receipt: string }>
}

const addressForm = { message: 'Where shall we send it?', schema: z.object({ street: z.string(), city: z.string() }) }
const agreeForm = { message: 'Shall we charge your card?', schema: z.object({ agree: z.boolean() }) }
// #endregion imports

export function shopServer(shop: Shop, keys: string, ledger: Ledger): Server {
  // #region server
  const server = createServer({ name: 'shop', version: '1.0.0', keys, ledger })
  const item = z.object({ item: z.string() })
  const order = z.object({ orderId: z.string(), amount: z.number() })
  // #endregion server

  // #region step
  server.tool('reserve', { description: 'Reserves an item.', input: item }, async ({ item }, ctx) => {
    const { reservation } = await ctx.step('reserve', () => shop.reserve(item))
    const { city } = await ctx.ask('address', addressForm)
    return `Reserved as ${reservation}, to be sent to ${city}.`
  })
  // #endregion step

  // #region once
  server.tool('buy', { description: 'Buys an item.', input: item }, async ({ item }, ctx) => {
    const { agree } = await ctx.ask('agree', agreeForm)
    if (!agree) return 'Nothing was charged.'
    const { receipt } = await ctx.once('charge', (idempotencyKey) => shop.charge(20, idempotencyKey))
    return `You have bought ${item}. The receipt is ${receipt}.`
  })
  // #endregion once

  // #region first-round
  server.tool('pay', { description: 'Pays an order.', input: order }, async ({ orderId, amount }, ctx) => {
    const { receipt } = await ctx.once('charge', (idempotencyKey) => shop.charge(amount, idempotencyKey), {
      id: orderId,
    })
    return `The order ${orderId} is paid. The receipt is ${receipt}.`
  })
  // #endregion first-round

  // #region retry
  server.tool('buy_again', { description: 'Buys an item.', input: item }, async ({ item }, ctx) => {
    const { agree } = await ctx.ask('agree', agreeForm)
    if (!agree) return 'Nothing was charged.'
    const { receipt } = await ctx.once('charge', (idempotencyKey) => shop.charge(20, idempotencyKey), {
      retryUnsettled: true,
      ttlSeconds: 7 * 86_400,
    })
    return `You have bought ${item}. The receipt is ${receipt}.`
  })
  // #endregion retry

  // #region parallel
  server.tool('reserve_both', { description: 'Reserves two items.' }, async (_, ctx) => {
    const [one, two] = await Promise.all([
      ctx.step('first', () => shop.reserve('cup')),
      ctx.step('second', () => shop.reserve('plate')),
    ])
    const { city } = await ctx.ask('address', addressForm)
    return `Reserved as ${one.reservation} and ${two.reservation} for ${city}.`
  })
  // #endregion parallel

  // #region plain
  server.tool('when', { description: 'Tells when it was first called.' }, async (_, ctx) => {
    const at = await ctx.step('at', () => new Date().toISOString()) // a string, in every round
    await ctx.ask('agree', agreeForm)
    return `First called at ${at}.`
  })
  // #endregion plain

  return server
}

// #region ledger
/** One file for all processes of a machine. */
export function machineLedger(path: string): Ledger {
  return sqliteLedger({ path })
}
// #endregion ledger

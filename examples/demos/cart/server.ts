/** The shop of SEP-1655: its list of tools gives a client a cart, and its tools change it. */
import { createServer } from 'pannier/server'
import * as z from 'zod'
import { listenAsInstance } from '../listen.ts'

const server = createServer({ name: 'shop', version: '1.0.0' })

// #region shop
const CART = 'Cart Contents'
const cart = z.object({ items: z.array(z.string()), price: z.number() })

server.onResult('tools/list', ({ state }) => {
  state.session.set(CART, { items: ['cucumber', 'tomato'], price: 100 })
  state.session.set('Coupon Code', 'XYZZY')
})

server.tool('gift', { description: 'Gives a gift to the customer.' }, (_, ctx) => {
  ctx.state.session.set('Gift', 'a bag')
  ctx.state.server.set('Customer', 4711) // kept until the server deletes it; what a session sets ends with the session
  return 'You get a bag.'
})

server.tool('add', { description: 'Puts a lemon into the cart.' }, (_, ctx) => {
  const { data } = cart.safeParse(ctx.state.session.get(CART)) // it comes from the client: check it
  ctx.state.session.set(CART, { items: [...(data?.items ?? []), 'lemon'], price: (data?.price ?? 0) + 1 })
  return 'A lemon is in the cart.'
})

server.tool('empty', { description: 'Empties the cart.' }, (_, ctx) => {
  ctx.state.session.delete(CART)
  return 'The cart is empty.'
})
// #endregion shop

await listenAsInstance(server)

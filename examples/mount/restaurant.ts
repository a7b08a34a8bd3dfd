/** The server that the examples beside this file mount in a framework: it has the menu, takes bookings and cooks. */
import { setTimeout } from 'node:timers/promises'
import { createServer, type Server } from 'pannier/server'
import * as z from 'zod'

const people = z.object({ people: z.int().min(1).max(12) })
const sure = z.object({ sure: z.boolean() })

export function restaurant(): Server {
  const server = createServer({ name: 'restaurant', version: '1.0.0' })

  server.tool('menu', { description: 'Tells what there is today.' }, () => 'Soup, dumplings, plum cake.')

  const day = z.object({ day: z.string() })
  server.tool('book_table', { description: 'Books a table.', input: day }, async ({ day }, ctx) => {
    const { people: guests } = await ctx.ask('people', { message: 'For how many people?', schema: people })
    const question = `A table for ${guests} on ${day}?`
    const { sure: agreed } = await ctx.ask('sure', { message: question, schema: sure })
    return agreed ? `Booked for ${guests} on ${day}.` : 'Nothing booked.'
  })

  const dish = z.object({ minutes: z.number().min(0), msPerMinute: z.number().min(0).default(1000) })
  server.tool('cook', { description: 'Cooks a dish.', input: dish }, async ({ minutes, msPerMinute }, ctx) => {
    for (let minute = 1; minute <= minutes; minute++) {
      await setTimeout(msPerMinute, undefined, { signal: ctx.signal }) // stops when the call is cancelled
      ctx.progress(minute, minutes)
    }
    return 'Done.'
  })

  return server
}

/**
 * An instance whose tool asks twice, and says at the test's gate that it has an answer before it does anything with it.
 * The ledger of the effects is common to all instances. Says its address in its first line.
 */
import { createServer } from 'pannier/server'
import { sqliteLedger } from 'pannier/state'
import { z } from 'zod'

const { GATE = '', LEDGER = '' } = process.env
const tell = async (what: 'answered' | 'effect', call: string): Promise<void> => {
  await fetch(`${GATE}/${what}/${call}/${process.pid}`)
}
const form = { message: 'Who is it for?', schema: z.object({ name: z.string() }) }

const server = createServer({ name: 'gated', version: '1.0.0', ledger: sqliteLedger({ path: LEDGER }) })
server.tool('order', { description: 'Orders.', input: z.object({ call: z.string() }) }, async ({ call }, ctx) => {
  const first = await ctx.ask('first', form)
  await tell('answered', `${call}.1`)
  const second = await ctx.ask('second', form)
  await tell('answered', `${call}.2`)
  await ctx.once('effect', () => tell('effect', call))
  return `${first.name} ${second.name}`
})
const { url } = await server.listen()
process.stdout.write(`${url}\n`)

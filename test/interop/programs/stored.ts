/**
 * An instance with a ledger and a carry store that all instances have. At the test's gate it says how far it has come with
 * an answer, and waits there. Says its address in its first line.
 */
import { postgres, postgresCarryStore, postgresLedger } from 'pannier/postgres'
import { createServer } from 'pannier/server'
import { type Ledger, sqliteCarryStore, sqliteLedger } from 'pannier/state'
import { z } from 'zod'

const { GATE = '', FOLDER = '', DATABASE } = process.env
const tell = async (what: 'at' | 'effect', name: string): Promise<void> => {
  await fetch(`${GATE}/${what}/${name}/${process.pid}`)
}

function stores() {
  if (DATABASE === undefined)
    return { ledger: sqliteLedger({ path: `${FOLDER}/ledger` }), store: sqliteCarryStore({ path: `${FOLDER}/store` }) }
  const connection = postgres({ url: DATABASE })
  return { ledger: postgresLedger(connection), store: postgresCarryStore(connection) }
}

/** Tells how far the claim of an answer has come. */
function told(ledger: Ledger): Ledger {
  const isAnswer = (id: string): boolean => id.startsWith('push/') && !id.includes('stream')
  return {
    async claim(id, ttlSeconds, holder) {
      if (isAnswer(id)) await tell('at', 'claiming')
      const claim = await ledger.claim(id, ttlSeconds, holder)
      if (isAnswer(id)) await tell('at', 'claimed')
      return claim
    },
    async settle(id, value) {
      await ledger.settle(id, value)
      if (isAnswer(id)) await tell('at', 'signed')
    },
    release: (id) => ledger.release(id),
  }
}

const form = { message: 'Who is it for?', schema: z.object({ name: z.string() }) }
const { ledger, store } = stores()
const server = createServer({ name: 'stored', version: '1.0.0', ledger: told(ledger), store })
server.tool('order', { description: 'Orders.' }, async (_, ctx) => {
  await ctx.step('reserve', () => tell('effect', 'reserved'))
  const { name } = await ctx.ask('name', form)
  await tell('at', 'answered')
  await ctx.once('charge', () => tell('effect', 'charged'))
  await tell('at', 'charged')
  return `For ${name}.`
})
const { url } = await server.listen()
process.stdout.write(`${url}\n`)

/** The code of docs/how-to/many-instances.md. */
// #region imports
import { postgres, postgresBus, postgresCarryStore, postgresLedger } from 'pannier/postgres'
import { type Carry, createServer, type Difference, type EventBus, type Server } from 'pannier/server'
import { type CarryStore, sqliteLedger } from 'pannier/state'
import * as z from 'zod'
// #endregion imports

// #region instance
/** The same on every machine: name, keys and tools. */
export function instance(ledgerPath: string): Server {
  return createServer({
    name: 'indexer', // also the audience of every seal: instances with another name cannot open it
    version: '1.0.0',
    ...(process.env['PANNIER_KEYS'] && { keys: process.env['PANNIER_KEYS'] }), // read by default, shown here once
    ttlSeconds: 1800, // how long a person may take to answer
    maxInFlight: 200, // above this, `checkpoint()` hands calls over to other instances
    ledger: sqliteLedger({ path: ledgerPath }),
  })
}
// #endregion instance

// #region checkpoint
export function offerIndexing(server: Server, index: (page: number) => Promise<number>): Server {
  const input = z.object({ pages: z.number().int() })
  return server.tool('index', { description: 'Indexes pages.', input }, async ({ pages }, ctx) => {
    let words = 0
    for (let page = 1; page <= pages; page++) {
      words += await ctx.step(`page ${page}`, () => index(page))
      await ctx.checkpoint()
    }
    return `Indexed ${words} words.`
  })
}
// #endregion checkpoint

// #region advertise
/** Behind a port mapping, or mounted in a framework: the address by which the other instances reach this one. */
export function reachable(address: string): Server {
  return createServer({ name: 'indexer', version: '1.0.0', advertise: address })
}
// #endregion advertise

// #region drain
/** After `listen` or `stdio`, SIGTERM does this by itself; call it where something else decides when to stop. */
export async function stop(server: Server): Promise<void> {
  await server.drain({ deadlineMs: 10_000 })
}
// #endregion drain

// #region carry
/** The stages of a migration from a store to none, to be deployed one after the other. */
export function migrating(carry: Carry, store: CarryStore, onDifference: (found: Difference) => void): Server {
  return createServer({ name: 'migrating', version: '1.0.0', carry, store, onDifference })
}
// #endregion carry

// #region carry-by-kind
/** People take hours to answer, models seconds: only what people are asked is carried. */
export function selective(store: CarryStore): Server {
  const server = createServer({ name: 'selective', version: '1.0.0', store, carry: { sampling: 'process' } })
  const form = { message: 'Which account?', schema: z.object({ account: z.string() }) }
  // The journal of this tool stays with the server, for all kinds of questions.
  return server.tool('transfer', { description: 'Transfers money.', carry: 'store' }, async (_, ctx) => {
    const { account } = await ctx.ask('account', form)
    return `Transferred to ${account}.`
  })
}
// #endregion carry-by-kind

export function offerWorkItem(server: Server): Server {
  const form = { message: 'Resolve as?', schema: z.object({ resolution: z.string() }) }
  return server.tool('resolve', { description: 'Resolves a work item.' }, async (_, ctx) => {
    const { resolution } = await ctx.ask('resolution', form)
    const { agree } = await ctx.ask('agree', { message: 'Sure?', schema: z.object({ agree: z.boolean() }) })
    return agree ? `Resolved as ${resolution}.` : 'Still open.'
  })
}

// #region postgres
/** Ledger, store and bus of any number of machines, over the connections of one pool. */
export function clusterInstance(url: string): { server: Server; close(): Promise<void> } {
  const database = postgres({ url })
  const bus = postgresBus(database)
  const server = createServer({
    name: 'indexer',
    version: '1.0.0',
    ledger: postgresLedger(database), // one claim of `once` for all instances
    store: postgresCarryStore(database), // journals too large to travel with the client
    bus, // what instances tell each other
  })
  const close = async () => {
    await server.drain()
    await bus.close()
    await database.close()
  }
  return { server, close }
}
// #endregion postgres

// #region bus
/** An event bus between the threads of one process. A message broker is connected in the same way. */
export function broadcastBus(name: string): EventBus & { close(): void } {
  const channel = new BroadcastChannel(name)
  const listeners = new Set<Parameters<EventBus['subscribe']>[0]>()
  const deliver: EventBus['publish'] = (event) => {
    for (const listener of listeners) listener(event)
  }
  channel.onmessage = ({ data }: MessageEvent) => deliver(data)
  return {
    publish: (event) => {
      deliver(event) // a channel does not deliver to its sender, and the publisher must get the event, too
      channel.postMessage(event)
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => channel.close(),
  }
}
// #endregion bus

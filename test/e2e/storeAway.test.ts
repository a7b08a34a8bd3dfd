/** Calls of both eras whose ledger and store are in a PostgreSQL that is stopped at each point of them. */
import { postgres, postgresCarryStore, postgresLedger } from 'pannier/postgres'
import { createServer } from 'pannier/server'
import { afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { accept, call, type Wire } from '../fixtures/modernClient.ts'
import { PostgresServer } from '../postgres/server.ts'
import { kinds } from '../survival/clients.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const nameForm = { message: 'Who is it for?', schema: z.object({ name: z.string() }) }

type Point = 'before the first round' | 'in a step' | 'between the rounds' | 'before once' | 'in once'

let database: PostgresServer
let isStopped = false

beforeAll(async () => {
  database = await PostgresServer.start()
  return () => database.end()
})
afterEach(restart)

async function stop(): Promise<void> {
  isStopped = true
  await database.stop()
}

async function restart(): Promise<void> {
  if (isStopped) await database.restart()
  isStopped = false
}

/** A server whose tool reserves, asks and pays, and comes by the points on its way. */
async function shop(point: Point) {
  const connection = postgres({ url: database.url() })
  const ledger = postgresLedger(connection)
  const store = postgresCarryStore(connection)
  const server = createServer({ name: 'shop', version: '1', logger: silent, ledger, store, carry: 'store' })
  const effects: string[] = []
  let isOver = false
  const reach = async (reached: Point): Promise<void> => {
    if (reached !== point || isOver) return
    isOver = true
    await stop()
  }
  server.tool('order', { description: 'Orders.' }, async (_, ctx) => {
    await ctx.step('reserve', async () => {
      effects.push('reserved')
      await reach('in a step')
    })
    const { name } = await ctx.ask('name', nameForm)
    await reach('before once')
    await ctx.once('pay', async () => {
      effects.push('paid')
      await reach('in once')
    })
    return `For ${name}.`
  })
  const { url } = await server.listen({ drainOnTerm: false })
  onTestFinished(async () => {
    await restart()
    await server.drain({ deadlineMs: 0 })
    await connection.close()
  })
  await ledger.claim(`connected ${url}`, 60)
  return { url, effects, reach }
}

const unavailable = (effects: string) => ({
  error: {
    code: -32603,
    message: `A store of this server cannot be used now. ${effects}`,
    data: { code: 'STORE_UNAVAILABLE' },
  },
})
const BEGUN = unavailable('The call has begun and may have had effects; look before you repeat it.')
const EARLIER = unavailable(
  'Earlier rounds or attempts of this call have run and may have had effects; look before you repeat it from its start.',
)
const DONE = { result: { content: [{ text: 'For Ann.' }] } }
const UNSETTLED = { result: { isError: true, content: [{ text: expect.stringContaining('did not report its end') }] } }

test.each(['before the first round', 'in a step'] as const)(
  'a stateless call says that it has begun when PostgreSQL is away for its first round: %s',
  async (point) => {
    const { url, effects, reach } = await shop(point)
    await reach('before the first round')
    expect((await call(url, 'order')).message).toMatchObject(BEGUN)
    expect(effects).toEqual(['reserved'])
  },
)

test.each([
  ['between the rounds', ['reserved'], DONE],
  ['before once', ['reserved'], DONE],
  ['in once', ['reserved', 'paid'], UNSETTLED],
] as const)(
  'a stateless call says that earlier rounds have run when PostgreSQL is stopped %s, and the round can be sent again',
  async (point, before, after) => {
    const { url, effects, reach } = await shop(point)
    const { message: asked } = await call(url, 'order')
    await reach('between the rounds')
    const params = { inputResponses: { name: accept({ name: 'Ann' }) }, requestState: asked.result.requestState }
    const answer = async (): Promise<Wire> => (await call(url, 'order', {}, { params })).message
    expect(await answer()).toMatchObject(EARLIER)
    expect(effects).toEqual(before)
    await restart()
    expect(await answer()).toMatchObject(after)
    expect(effects).toEqual(['reserved', 'paid'])
  },
)

test.each([
  ['v1', 'before the first round', ['reserved']],
  ['v2', 'in a step', ['reserved']],
  ['v1', 'before once', ['reserved']],
  ['v2', 'in once', ['reserved', 'paid']],
] as const)(
  'the client %s in a session is told that its call has begun when PostgreSQL is stopped %s',
  async (kind, point, expected) => {
    const { url, effects, reach } = await shop(point)
    const client = await kinds[kind](url)
    onTestFinished(() => client.close())
    await reach('before the first round')
    const failed = await client.call('order', {}, { timeout: 30_000 }).catch((error: unknown) => error)
    expect(failed).toMatchObject({
      message: expect.stringContaining(BEGUN.error.message),
      data: { code: 'STORE_UNAVAILABLE' },
    })
    expect(effects).toEqual(expected)
  },
)

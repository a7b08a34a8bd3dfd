/** Clients of the session era are asked by a gateway that is killed, or stopped, before they answer. */
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { connect } from 'pannier/client'
import { createServer } from 'pannier/server'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { newDatabase, runSql } from '../postgres/database.ts'
import { startBalancer } from '../survival/balancer.ts'
import { untilAllEnd } from './fixtures/bothEras.ts'
import { effectTools } from './fixtures/effectTools.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { sessionServer, stdioEntry } from './fixtures/gateways.ts'

const LONG = { timeout: 60_000 }
const me = { name: 'asked', version: '1' }
const until = untilAllEnd()
const effects: string[] = []
let servers: object = {}

interface Asked {
  /** `key`: for servers that note what they did, or what is to be noted. */
  call(tool: string, key: string): Promise<unknown>
}

/** Connects, and answers every question with what `answer` gives for it. */
type ConnectAsked = (url: string, answer: () => Promise<string>) => Promise<Asked>

const text = (result: object): unknown => (result as { content?: { text: string }[] }).content?.[0]?.text
const accepted = async (name: Promise<string>) => ({ action: 'accept' as const, content: { name: await name } })

const CLIENTS = {
  v1: async (url, answer) => {
    const client = new ClientV1(me, { capabilities: { elicitation: {} } })
    client.setRequestHandler(ElicitRequestSchema, () => accepted(answer()))
    await client.connect(new HttpV1(new URL(url)))
    onTestFinished(() => client.close())
    return { call: async (name, key) => text(await client.callTool({ name, arguments: { key, text: key } })) }
  },
  v2: async (url, answer) => {
    const client = new ClientV2(me, {
      capabilities: { elicitation: {} },
      versionNegotiation: { mode: 'legacy' },
    })
    client.setRequestHandler('elicitation/create', () => accepted(answer()))
    await client.connect(new HttpV2(new URL(url)))
    onTestFinished(() => client.close())
    return { call: async (name, key) => text(await client.callTool({ name, arguments: { key, text: key } })) }
  },
  'that echoes states': async (url, answer) => {
    const answerers = { form: () => accepted(answer()) }
    const client = await connect(url, { era: 'session', answerers })
    onTestFinished(() => client.close())
    return { call: async (name, key) => text(await client.callTool({ name, arguments: { key, text: key } })) }
  },
} satisfies Record<string, ConnectAsked>

/** A server of the stateless era whose tool books between two questions. */
async function bookings(): Promise<string> {
  const server = createServer({ name: 'bookings', version: '1', keys: KEYS, logger: quiet })
  const schema = z.object({ name: z.string() })
  server.tool('book', { description: 'Books.', input: z.object({ key: z.string() }) }, async ({ key }, ctx) => {
    const { name: first } = await ctx.ask('first', { message: 'First?', schema })
    await ctx.step('book', () => void effects.push(`booked ${key}`))
    const { name: second } = await ctx.ask('second', { message: 'Second?', schema })
    return `${first} ${second}`
  })
  const { url } = await server.listen({ drainOnTerm: false })
  until(() => server.drain({ deadlineMs: 0 }))
  return url
}

beforeAll(async () => {
  const { url } = await sessionServer(until, () => effectTools(effects))
  const notes = (await sessionServer(until)).url
  servers = {
    modern: { url: await bookings() },
    desk: { url, pannier: { state: 'stateful' } },
    http: { url: notes, pannier: { state: 'stateful' } },
    stdio: stdioEntry(),
  }
})

interface Ending {
  readonly kind: keyof typeof CLIENTS
  readonly tool: string
  readonly args?: readonly string[]
  readonly signal?: 'SIGKILL' | 'SIGTERM'
  readonly onAsked?: () => Promise<void>
}

/** The gateway that a call waits in ends at its second question; the answer comes to the other. */
async function endedWhileAsking({ kind, tool, args = [], signal = 'SIGKILL', onAsked }: Ending): Promise<unknown> {
  const balancer = await startBalancer()
  onTestFinished(() => balancer.close())
  const owner = await startGatewayProcess(servers, { args })
  const env = { PANNIER_PEERS: new URL(owner.url).origin }
  const other = await startGatewayProcess(servers, { args, env })
  balancer.targets = [owner.url]
  const answers = ['Ann', 'Lee']
  const hasEnded = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const client = await CLIENTS[kind](balancer.url, async () => {
    const name = answers.shift() ?? 'nobody'
    if (answers.length > 0) return name
    asked.resolve()
    await hasEnded.promise
    return name
  })
  const outcome = client.call(tool, `${tool} ${kind}`).catch((error: unknown) => (error as Error).message)
  await asked.promise
  await onAsked?.()
  balancer.targets = [owner.url, other.url]
  await owner.end(signal)
  hasEnded.resolve()
  return outcome
}

test.each([
  ['v1', 'SIGKILL'],
  ['v2', 'SIGKILL'],
  ['v1', 'SIGTERM'],
] as const)(
  'a call of the client %s goes on in another gateway, from its state in PostgreSQL: %s',
  LONG,
  async (kind, signal) => {
    const database = await newDatabase()
    const args = ['--postgres', database]
    const stored = (): Promise<unknown[]> => runSql(database, 'SELECT token FROM pannier.carried')
    const onAsked = async (): Promise<void> => {
      // The state of the first question is removed in the background.
      await vi.waitFor(async () => expect(await stored()).toHaveLength(1))
      expect(JSON.stringify(await stored())).not.toMatch(/modern_book|Second|Ann/)
    }
    effects.splice(0)
    expect(await endedWhileAsking({ kind, tool: 'modern_book', args, signal, onAsked })).toBe('Ann Lee')
    expect(effects).toEqual([`booked modern_book ${kind}`])
    await vi.waitFor(async () => expect(await stored()).toEqual([]))
  },
)

test('a call of a client that echoes states goes on in another gateway, from that state', LONG, async () => {
  effects.splice(0)
  expect(await endedWhileAsking({ kind: 'that echoes states', tool: 'modern_book' })).toBe('Ann Lee')
  expect(effects).toEqual(['booked modern_book that echoes states'])
})

test.each([
  ['v1', 'modern_book', async () => [], 'booked'],
  ['v1', 'desk_book', async () => ['--postgres', await newDatabase()], 'began'],
  ['that echoes states', 'desk_book', async () => [], 'began'],
] as const)(
  'a call of the client %s at %s that has no state anywhere ends with a word',
  LONG,
  async (kind, tool, argsOf, effect) => {
    effects.splice(0)
    const began = performance.now()
    const heard = await endedWhileAsking({ kind, tool, args: await argsOf() })
    expect(heard).toMatch(/may have had effects|may have happened/)
    expect(performance.now() - began).toBeLessThan(30_000)
    expect(effects).toEqual([`${effect} ${tool} ${kind}`])
  },
)

test.each([
  ['http', []],
  ['stdio', []],
  ['http', ['--postgres']],
] as const)(
  'a session finds what the server %s keeps for it when another gateway ends through which it was asked %j',
  LONG,
  async (server, [option]) => {
    const args = option === undefined ? [] : [option, await newDatabase()]
    const balancer = await startBalancer()
    onTestFinished(() => balancer.close())
    const owner = await startGatewayProcess(servers, { args })
    const through = await startGatewayProcess(servers, { args, env: { PANNIER_PEERS: new URL(owner.url).origin } })
    balancer.targets = [owner.url]
    const asked = Promise.withResolvers<void>()
    const client = await CLIENTS.v1(balancer.url, async () => {
      asked.resolve()
      return new Promise(() => {})
    })
    await client.call(`${server}_note`, 'milk')
    balancer.targets = [through.url]
    const outcome = client.call(`${server}_confirm`, '').catch((error: unknown) => (error as Error).message)
    await asked.promise
    balancer.targets = [owner.url]
    await through.end('SIGKILL')
    for (let time = 0; time < 3; time++) expect(await client.call(`${server}_recall`, '')).toBe('milk')
    if (option === undefined) expect(await outcome).toMatch(/may have had effects|may have happened/)
  },
)

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

interface AskedCall {
  readonly kind: keyof typeof CLIENTS
  readonly tool: string
}

const keyOf = ({ kind, tool }: AskedCall): string => `${tool} ${kind}`

interface Ending {
  readonly args?: readonly string[]
  readonly signal?: 'SIGKILL' | 'SIGTERM'
  readonly onAsked?: () => Promise<void>
}

/** Two gateways that know each other. */
async function twoGateways(args: readonly string[]) {
  const balancer = await startBalancer()
  onTestFinished(() => balancer.close())
  const owner = await startGatewayProcess(servers, { args })
  const other = await startGatewayProcess(servers, { args, env: { PANNIER_PEERS: new URL(owner.url).origin } })
  balancer.targets = [owner.url]
  return { balancer, owner, other }
}

/** The gateway that calls wait in ends at their second questions; the answers come to the other. */
async function endedWhileAsking(
  calls: readonly AskedCall[],
  { args = [], signal = 'SIGKILL', onAsked }: Ending,
): Promise<unknown[]> {
  const { balancer, owner, other } = await twoGateways(args)
  const hasEnded = Promise.withResolvers<void>()
  const begun = calls.map(async (each) => {
    const answers = ['Ann', 'Lee']
    const asked = Promise.withResolvers<void>()
    const client = await CLIENTS[each.kind](balancer.url, async () => {
      const name = answers.shift() ?? 'nobody'
      if (answers.length > 0) return name
      asked.resolve()
      await hasEnded.promise
      return name
    })
    const outcome = client.call(each.tool, keyOf(each)).catch((error: unknown) => (error as Error).message)
    await asked.promise
    return { outcome }
  })
  const waiting = await Promise.all(begun)
  await onAsked?.()
  balancer.targets = [owner.url, other.url]
  await owner.end(signal)
  hasEnded.resolve()
  return Promise.all(waiting.map(({ outcome }) => outcome))
}

const LOST = expect.stringMatching(/may have had effects|may have happened/)

test.each([
  ['SIGKILL', [{ kind: 'v1', tool: 'desk_book' }]],
  ['SIGTERM', []],
] as const)(
  'calls go on in another gateway, from their states in PostgreSQL, and those that have none end with a word: %s',
  LONG,
  async (signal, stateless) => {
    const database = await newDatabase()
    const args = ['--postgres', database]
    const stored = (): Promise<unknown[]> => runSql(database, 'SELECT token FROM pannier.carried')
    const onAsked = async (): Promise<void> => {
      // The states of the first questions are removed in the background.
      await vi.waitFor(async () => expect(await stored()).toHaveLength(2))
      expect(JSON.stringify(await stored())).not.toMatch(/modern_book|Second|"Ann/) // no token has a quotation mark
    }
    effects.splice(0)
    const carried = [
      { kind: 'v1', tool: 'modern_book' },
      { kind: 'v2', tool: 'modern_book' },
    ] as const
    const heard = await endedWhileAsking([...carried, ...stateless], { args, signal, onAsked })
    expect(heard).toEqual(['Ann Lee', 'Ann Lee', ...stateless.map(() => LOST)])
    const expected = [
      ...carried.map((each) => `booked ${keyOf(each)}`),
      ...stateless.map((each) => `began ${keyOf(each)}`),
    ]
    expect(effects.toSorted()).toEqual(expected.toSorted())
    await vi.waitFor(async () => expect(await stored()).toEqual([]))
  },
)

test(
  'a call of a client that echoes states goes on in another gateway, and those without a state end with a word',
  LONG,
  async () => {
    effects.splice(0)
    const began = performance.now()
    const heard = await endedWhileAsking(
      [
        { kind: 'that echoes states', tool: 'modern_book' },
        { kind: 'that echoes states', tool: 'desk_book' },
        { kind: 'v1', tool: 'modern_book' },
      ],
      {},
    )
    expect(heard).toEqual(['Ann Lee', LOST, LOST])
    expect(performance.now() - began).toBeLessThan(30_000)
    expect(effects.toSorted()).toEqual([
      'began desk_book that echoes states',
      'booked modern_book that echoes states',
      'booked modern_book v1',
    ])
  },
)

test.each([
  [['http', 'stdio'], []],
  [['http'], ['--postgres']],
] as const)(
  'a session finds what the servers %j keep for it when another gateway ends through which it was asked %j',
  LONG,
  async (kept, [option]) => {
    const args = option === undefined ? [] : [option, await newDatabase()]
    const { balancer, owner, other: through } = await twoGateways(args)
    const sessions = kept.map(async (server) => {
      const asked = Promise.withResolvers<void>()
      const client = await CLIENTS.v1(balancer.url, async () => {
        asked.resolve()
        return new Promise(() => {})
      })
      await client.call(`${server}_note`, 'milk')
      return { server, client, asked: asked.promise }
    })
    const clients = await Promise.all(sessions)
    balancer.targets = [through.url]
    const outcomes = clients.map(({ server, client }) =>
      client.call(`${server}_confirm`, '').catch((error: unknown) => (error as Error).message),
    )
    await Promise.all(clients.map(({ asked }) => asked))
    balancer.targets = [owner.url]
    await through.end('SIGKILL')
    for (const { server, client } of clients) {
      for (let time = 0; time < 3; time++) expect(await client.call(`${server}_recall`, '')).toBe('milk')
    }
    if (option === undefined) expect(await Promise.all(outcomes)).toEqual([LOST, LOST])
  },
)

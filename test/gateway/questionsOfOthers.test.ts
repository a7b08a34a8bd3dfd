/**
 * Two calls of one client wait at a server that does not say which of them asks, and their streams are in different gateways. The
 * question of one goes out on the stream of the other, whose gateway or call ends.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type Answerer, connect } from 'pannier/client'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { rows } from '../amount.ts'
import { newDatabase } from '../postgres/database.ts'
import { startBalancer } from '../survival/balancer.ts'
import { untilAllEnd } from './fixtures/bothEras.ts'
import { sessionServer, startGateway, stdioEntry } from './fixtures/gateways.ts'
import { startMember, startMortalMember } from './fixtures/member.ts'

const LONG = { timeout: 30_000 }
const until = untilAllEnd()
let servers: object = {}

beforeAll(async () => {
  const { url } = await sessionServer(until)
  servers = { http: { url, pannier: { state: 'stateful' } }, stdio: stdioEntry() }
})

const STORES = { 'no store': async () => ({}), PostgreSQL: async () => ({ postgres: await newDatabase() }) }

/** Resolves when the first question may be answered; all others are at once. */
type FirstAnswer = () => Promise<void>

interface Caller {
  readonly server: 'http' | 'stdio'
  readonly firstAnswer: FirstAnswer
  /** Whether the connection of the call that waits is cut before its first event. */
  readonly isCut?: boolean
  /** Whether the client is ours, which gets questions as results in a session as well. */
  readonly isOurs?: boolean
}

interface Where {
  readonly store?: keyof typeof STORES
  /** Whether the stream of the call that waits is in the gateway that has the server's process. */
  readonly isAtOwner?: boolean
}

/**
 * For each caller one call waits, and another one asks. The question goes out by way of `first`, where the stream of the one
 * that waits is.
 */
async function askedOnAnotherStream(callers: readonly Caller[], { store = 'no store', isAtOwner = false }: Where = {}) {
  const settings = await STORES[store]()
  const balancer = await startBalancer()
  onTestFinished(() => balancer.close())
  const owner = await startMember(servers, { settings })
  const options = { settings, peers: [owner.url] }
  const [first, second] = await Promise.all([startMortalMember(servers, options), startMember(servers, options)])
  balancer.targets = [owner.url]
  const clients = await Promise.all(callers.map((caller) => connectCaller(caller, balancer.url)))
  await Promise.all(clients.map(({ call }) => call('note', { text: 'milk' })))
  const passed: string[] = []
  balancer.onPass = (_, body) => void passed.push(String(body))
  balancer.targets = [isAtOwner ? owner.url : first.url]
  const waiting = clients.map(({ call }) => call('wait').catch((error: unknown) => (error as Error).message))
  await vi.waitFor(() => expect(passed.filter((body) => body.includes('_wait'))).toHaveLength(clients.length), LONG)
  balancer.targets = [owner.url]
  for (const { call } of clients) await vi.waitFor(async () => expect(await call('recall')).toBe('milk waiting'), LONG)
  for (const { cut } of clients) cut()
  balancer.targets = [second.url]
  const asking = clients.map(({ call }) => call('confirm'))
  await vi.waitFor(() => {
    for (const { questions } of clients) expect(questions).toContain('Sure?')
  }, LONG)
  balancer.targets = [owner.url, second.url]
  return { first, waiting, asking, clients }
}

async function connectCaller({ server, firstAnswer, isCut = false, isOurs = false }: Caller, url: string) {
  const questions: string[] = []
  const answer = async (message: string) => {
    questions.push(message)
    if (questions.length === 1) await firstAnswer()
    return { action: 'accept' as const, content: { sure: true } }
  }
  const { fetch: held, cut } = cutting()
  const client = await (isOurs ? ourClient : sdkClient)(url, answer, isCut ? held : fetch)
  onTestFinished(() => client.close())
  const leave = new AbortController()
  const call = async (tool: string, more = {}): Promise<string> => {
    const options = tool === 'wait' ? { signal: leave.signal } : {}
    const params = { name: `${server}_${tool}`, arguments: more }
    const { content } = await client.callTool(params, options)
    return (content as { text: string }[])[0]?.text ?? ''
  }
  return { questions, call, leave: () => leave.abort(), cut }
}

type Answer = (message: string) => Promise<{ action: 'accept'; content: { sure: boolean } }>

async function sdkClient(url: string, answer: Answer, fetchOf: typeof fetch) {
  const client = new Client({ name: 'two', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params.message))
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: fetchOf }))
  return {
    callTool: (params: { name: string }, options: object) => client.callTool(params, undefined, options),
    close: () => client.close(),
  }
}

function ourClient(url: string, answer: Answer, fetchOf: typeof fetch) {
  const form: Answerer = ({ request }) => answer((request.params as { message: string }).message)
  return connect(url, { era: 'session', answerers: { form }, fetch: fetchOf })
}

/** Cuts the connection of the call that waits. The client notices nothing, as when a network drops packets. */
function cutting() {
  const connection = new AbortController()
  const held: typeof fetch = async (url, init) => {
    if (typeof init?.body !== 'string' || !init.body.includes('_wait')) return fetch(url, init)
    fetch(url, { ...init, signal: connection.signal }).catch(() => {})
    return new Promise(() => {})
  }
  return { fetch: held, cut: () => connection.abort() }
}

const answerAll: FirstAnswer = async () => {}
const never: FirstAnswer = () => new Promise(() => {})

test.each([
  ['no store', ['stdio', 'http']],
  ['PostgreSQL', ['stdio']],
] as const)(
  'a question is asked again in another call when the gateway is killed on whose stream it was asked: %s, at %j',
  LONG,
  async (store, at) => {
    const callers = at.map((server) => ({ server, firstAnswer: never }))
    const { first, waiting, asking } = await askedOnAnotherStream(callers, { store })
    await first.end('SIGKILL')
    expect(await Promise.all(asking)).toEqual(at.map(() => 'accept true, accept true'))
    if (store !== 'no store') return
    expect(await Promise.all(waiting)).toEqual(at.map(() => expect.stringMatching(/may have had effects/)))
  },
)

test(
  'a question that was asked on the stream of another call is answered there when its gateway is stopped',
  LONG,
  async () => {
    const stopped = Promise.withResolvers<void>()
    const caller = { server: 'stdio', firstAnswer: () => stopped.promise } as const
    const { first, asking } = await askedOnAnotherStream([caller])
    await first.end('SIGTERM')
    stopped.resolve()
    expect(await Promise.all(asking)).toEqual(['accept true, accept true'])
  },
)

test(
  'a question is asked again in another call when the one is cancelled in which it was asked, or its client cannot answer',
  LONG,
  async () => {
    const fail: FirstAnswer = () => Promise.reject(new Error('No.'))
    const { asking, clients } = await askedOnAnotherStream([
      { server: 'stdio', firstAnswer: never },
      { server: 'http', firstAnswer: never },
      { server: 'stdio', firstAnswer: fail },
    ])
    for (const { leave } of clients.slice(0, 2)) leave()
    expect(await Promise.all(asking)).toEqual(clients.map(() => 'accept true, accept true'))
    for (const { call } of clients)
      await vi.waitFor(async () => expect(await call('recall')).toBe('milk waiting cancelled'), LONG)
  },
)

test.each(rows([true, false], 1))(
  'a question is asked again in another call when the connection is cut on which it was asked; there is the server: %j',
  LONG,
  async (isAtOwner) => {
    const cut = { firstAnswer: answerAll, isCut: true }
    const callers = [
      { ...cut, server: 'stdio' },
      { ...cut, server: 'http' },
      { ...cut, server: 'stdio', isOurs: true },
    ] as const
    const { asking } = await askedOnAnotherStream(callers, { isAtOwner })
    expect(await Promise.all(asking)).toEqual(callers.map(() => 'accept true, accept true'))
  },
)

test('a question that is not answered in time is asked in one other call, and then fails', LONG, async () => {
  const { url } = await startGateway({ stdio: stdioEntry({ state: 'stateful', parkSeconds: 2 }) })
  const form = vi.fn(() => new Promise<never>(() => {}))
  const client = await connect(url, { era: 'session', answerers: { form } })
  onTestFinished(() => client.close())
  const calls = Array.from({ length: 3 }, () => client.callTool({ name: 'stdio_confirm', arguments: {} }))
  for (const call of calls) call.catch(() => {}) // two still wait when the client is closed
  const text = 'MCP error -32603: The question was not answered within 2 seconds.'
  expect(await Promise.race(calls)).toMatchObject({ isError: true, content: [{ text }] })
  expect(form).toHaveBeenCalledTimes(6)
})

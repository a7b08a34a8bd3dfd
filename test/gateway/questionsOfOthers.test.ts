/**
 * Two calls of one client wait at a server that does not say which of them asks, and their streams are in different gateways. The
 * question of one goes out on the stream of the other, whose gateway or call ends.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { newDatabase } from '../postgres/database.ts'
import { startBalancer } from '../survival/balancer.ts'
import { untilAllEnd } from './fixtures/bothEras.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { sessionServer, stdioEntry } from './fixtures/gateways.ts'

const LONG = { timeout: 30_000 }
const until = untilAllEnd()
let servers: object = {}

beforeAll(async () => {
  const { url } = await sessionServer(until)
  servers = { http: { url, pannier: { state: 'stateful' } }, stdio: stdioEntry() }
})

const STORES = { 'no store': async () => [], PostgreSQL: async () => ['--postgres', await newDatabase()] }

interface Fleet {
  readonly server: 'http' | 'stdio'
  readonly store?: keyof typeof STORES
}

/** Resolves when the first question may be answered; all others are at once. */
type FirstAnswer = () => Promise<void>

/** One call waits, and another one asks. The question goes out by way of `first`, where the stream of the one that waits is. */
async function askedOnAnotherStream(firstAnswer: FirstAnswer, { server, store = 'no store' }: Fleet) {
  const args = await STORES[store]()
  const balancer = await startBalancer()
  onTestFinished(() => balancer.close())
  const owner = await startGatewayProcess(servers, { args })
  const env = { PANNIER_PEERS: new URL(owner.url).origin }
  const start = () => startGatewayProcess(servers, { args, env })
  const [first, second] = await Promise.all([start(), start()])
  balancer.targets = [owner.url]
  const questions: string[] = []
  const client = new Client({ name: 'two', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    questions.push(params.message)
    if (questions.length === 1) await firstAnswer()
    return { action: 'accept', content: { sure: true } }
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(balancer.url)))
  onTestFinished(() => client.close())
  const leave = new AbortController()
  const call = async (tool: string, more = {}): Promise<string> => {
    const options = tool === 'wait' ? { signal: leave.signal } : {}
    const { content } = await client.callTool({ name: `${server}_${tool}`, arguments: more }, undefined, options)
    return (content as { text: string }[])[0]?.text ?? ''
  }
  await call('note', { text: 'milk' })
  const passed: string[] = []
  balancer.onPass = (_, body) => void passed.push(String(body))
  balancer.targets = [first.url]
  const waiting = call('wait').catch((error: unknown) => (error as Error).message)
  await vi.waitFor(() => expect(passed.join()).toContain(`${server}_wait`), LONG)
  balancer.targets = [owner.url]
  await vi.waitFor(async () => expect(await call('recall')).toBe('milk waiting'), LONG)
  balancer.targets = [second.url]
  const asking = call('confirm')
  await vi.waitFor(() => expect(questions).toContain('Sure?'), LONG)
  balancer.targets = [owner.url, second.url]
  return { first, waiting, asking, call, leave: () => leave.abort() }
}

const never = (): Promise<void> => new Promise(() => {})

test.each([
  ['stdio', 'no store'],
  ['http', 'no store'],
  ['stdio', 'PostgreSQL'],
] as const)(
  'a question at the server %s is asked again in another call when the gateway is killed on whose stream it was asked: %s',
  LONG,
  async (server, store) => {
    const { first, waiting, asking } = await askedOnAnotherStream(never, { server, store })
    await first.end('SIGKILL')
    expect(await asking).toBe('accept true, accept true')
    if (store === 'no store') expect(await waiting).toMatch(/may have had effects/)
  },
)

test(
  'a question that was asked on the stream of another call is answered there when its gateway is stopped',
  LONG,
  async () => {
    const stopped = Promise.withResolvers<void>()
    const { first, asking } = await askedOnAnotherStream(() => stopped.promise, { server: 'stdio' })
    await first.end('SIGTERM')
    stopped.resolve()
    expect(await asking).toBe('accept true, accept true')
  },
)

test.each(['stdio', 'http'] as const)(
  'a question at the server %s is asked again in another call when the one is cancelled in which it was asked',
  LONG,
  async (server) => {
    const { asking, call, leave } = await askedOnAnotherStream(never, { server })
    leave()
    expect(await asking).toBe('accept true, accept true')
    await vi.waitFor(async () => expect(await call('recall')).toBe('milk waiting cancelled'), LONG)
  },
)

test(
  'a question that its client cannot answer ends the call in which it was asked, and is asked again in another',
  LONG,
  async () => {
    const fail = (): Promise<void> => Promise.reject(new Error('No.'))
    const { asking, call } = await askedOnAnotherStream(fail, { server: 'stdio' })
    expect(await asking).toBe('accept true, accept true')
    await vi.waitFor(async () => expect(await call('recall')).toBe('milk waiting cancelled'), LONG)
  },
)

/**
 * A client of the session era is asked by way of one gateway, while its server's call waits in another. The gateway with its
 * stream ends: the call is not begun a second time.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { commandOf } from '../interop/fixtures/instances.ts'
import { longTest } from '../longTest.ts'
import { newDatabase } from '../postgres/database.ts'
import { startBalancer } from '../survival/balancer.ts'
import { untilAllEnd } from './fixtures/bothEras.ts'
import { effectTools } from './fixtures/effectTools.ts'
import { sessionServer } from './fixtures/gateways.ts'
import { type MemberOptions, startMember, startMortalMember } from './fixtures/member.ts'

const LONG = { timeout: 60_000 }
const PROGRAM = fileURLToPath(new URL('programs/effectTools.ts', import.meta.url))
const until = untilAllEnd()
const effects: string[] = []
const folder = mkdtempSync(join(tmpdir(), 'pannier-once-'))
const written = join(folder, 'effects')
let servers: object = {}

beforeAll(async () => {
  writeFileSync(written, '')
  until(() => rmSync(folder, { recursive: true }))
  const { url } = await sessionServer(until, () => effectTools(effects))
  const { env, ...command } = commandOf(PROGRAM)
  servers = {
    http: { url, pannier: { state: 'stateful' } },
    stdio: { ...command, env: { ...env, EFFECTS: written }, pannier: { state: 'stateful' } },
  }
})

/** What either server did for a call. */
const effectsOf = (key: string): string[] =>
  [...effects, ...readFileSync(written, 'utf8').split('\n')]
    .filter((line) => line.endsWith(` ${key}`))
    .map((line) => line.replace(/^\d+ /, '').split(' ')[0] ?? '')

type Answer = (question: string) => Promise<string>

const CLIENTS = {
  v1: async (url: string, answer: Answer) => {
    const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities: { elicitation: {} } })
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => accepted(await answer(params.message)))
    await client.connect(new HttpV1(new URL(url)))
    return client
  },
  v2: async (url: string, answer: Answer) => {
    const mode = { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'legacy' } } as const
    const client = new ClientV2({ name: 'v2', version: '1' }, mode)
    client.setRequestHandler('elicitation/create', async ({ params }) => accepted(await answer(params.message)))
    await client.connect(new HttpV2(new URL(url)))
    return client
  },
}

const accepted = (name: string) => ({ action: 'accept' as const, content: { name } })

const STORES = { 'no store': async () => ({}), PostgreSQL: async () => ({ postgres: await newDatabase() }) }

interface AskedCall {
  /** Also the name under which the server notes what it did. */
  readonly key: string
  readonly kind?: keyof typeof CLIENTS
  readonly server: 'http' | 'stdio'
}

interface Fleet {
  readonly store?: keyof typeof STORES
  /** Gateways beside the owner of the callers and the one with the streams. @default none */
  readonly more?: number
}

/** Calls wait for their second answers: their servers' calls in `owner`, and their streams in `through`. */
async function askedThroughAnother<Owner extends { url: string }>(
  startOwner: (servers: object, options: MemberOptions) => Promise<Owner>,
  calls: readonly AskedCall[],
  { store = 'no store', more = 0 }: Fleet = {},
) {
  const balancer = await startBalancer()
  onTestFinished(() => balancer.close())
  const settings = await STORES[store]()
  const owner = await startOwner(servers, { settings })
  const start = () => startMortalMember(servers, { settings, peers: [owner.url] })
  const [through, others] = await Promise.all([start(), Promise.all(Array.from({ length: more }, start))])
  balancer.targets = [owner.url]
  const callers = await Promise.all(calls.map((each) => callerOf(each, balancer.url)))
  balancer.targets = [through.url]
  const asked = await Promise.all(callers.map((caller) => caller.begin()))
  return { balancer, owner, through, others, asked }
}

/** A client whose caller has been served for the first time. */
async function callerOf({ key, kind = 'v1', server }: AskedCall, url: string) {
  const questions: string[] = []
  const answered = Promise.withResolvers<void>()
  const client = await CLIENTS[kind](url, async (question) => {
    questions.push(question)
    if (questions.length === 4) await answered.promise
    return question
  })
  onTestFinished(() => client.close())
  const call = async (tool: string, of: string): Promise<string> => {
    const { content } = await client.callTool({ name: `${server}_${tool}`, arguments: { key: of } })
    return (content as { text: string }[])[0]?.text ?? ''
  }
  await call('look', 'at the owner')
  const begin = async () => {
    const outcome = call('book', key).catch((error: unknown) => (error as Error).message)
    await vi.waitFor(() => expect(questions).toHaveLength(4), LONG)
    return { key, client, outcome, questions, answer: () => answered.resolve() }
  }
  return { begin }
}

type Asked = Awaited<ReturnType<typeof askedThroughAnother>>['asked']

/** The second questions are answered now, and each call has run once. */
async function expectDone(asked: Asked): Promise<void> {
  for (const { answer } of asked) answer()
  for (const { key, outcome } of asked) {
    expect(await outcome, key).toBe('First? Second?')
    expect(effectsOf(key), key).toEqual(['began', 'done'])
  }
}

test.each([
  ['SIGTERM', 'PostgreSQL', 'v2', 'v1'],
  ['SIGKILL', 'PostgreSQL', 'v1', 'v2'],
] as const)(
  'calls run once when the gateway with their streams ends: %s, %s, the client %s at a server over HTTP and %s at a process',
  LONG,
  async (signal, store, http, stdio) => {
    const calls = [
      { key: `http-${signal}-${store}`, kind: http, server: 'http' },
      { key: `stdio-${signal}-${store}`, kind: stdio, server: 'stdio' },
    ] as const
    const { balancer, owner, through, asked } = await askedThroughAnother(startMember, calls, { store })
    balancer.targets = [owner.url]
    await through.end(signal)
    await expectDone(asked)
    for (const { key, questions } of asked) {
      // A gateway that was killed may have had the answer in its hands, so that the open question may be asked again.
      if (signal === 'SIGTERM') expect(questions, key).toHaveLength(4)
      expect(questions.filter((question) => question === 'First?')).toHaveLength(2)
    }
  },
)

longTest('calls run once when gateway after gateway with their streams is stopped', LONG, async () => {
  const calls = [
    { key: 'stopped-http', kind: 'v1', server: 'http' },
    { key: 'stopped-stdio', kind: 'v2', server: 'stdio' },
  ] as const
  const { balancer, owner, through, others, asked } = await askedThroughAnother(startMember, calls, { more: 1 })
  balancer.targets = [owner.url, ...others.map(({ url }) => url)]
  await through.end('SIGTERM')
  balancer.targets = [owner.url]
  for (const other of others) await other.end('SIGTERM')
  await expectDone(asked)
  for (const { key, questions } of asked) expect(questions, key).toHaveLength(4)
})

longTest('an answer that comes to a third gateway reaches the call, from its state in PostgreSQL', LONG, async () => {
  const { balancer, through, others, asked } = await askedThroughAnother(
    startMember,
    [{ key: 'third', server: 'stdio' }],
    {
      store: 'PostgreSQL',
      more: 1,
    },
  )
  balancer.targets = others.map(({ url }) => url)
  await through.end('SIGKILL')
  await expectDone(asked)
})

/** A call at each server. */
const bothOf = (key: string): AskedCall[] => [
  { key: `${key}-http`, server: 'http' },
  { key: `${key}-stdio`, server: 'stdio' },
]

test('calls whose gateways have both ended are lost, and not begun again', LONG, async () => {
  const { balancer, owner, through, others, asked } = await askedThroughAnother(startMortalMember, bothOf('lost'), {
    more: 1,
  })
  balancer.targets = others.map(({ url }) => url)
  await owner.end('SIGKILL')
  await through.end('SIGTERM')
  for (const { answer } of asked) answer()
  for (const { key, outcome } of asked) {
    expect(await outcome, key).toMatch(/may have happened|may have had effects/)
    expect(effectsOf(key), key).toEqual(['began'])
  }
})

longTest(
  'calls whose clients have gone are not begun again when the gateway with their streams is stopped',
  LONG,
  async () => {
    const { balancer, owner, through, asked } = await askedThroughAnother(startMember, bothOf('gone'), {
      store: 'PostgreSQL',
    })
    balancer.targets = [owner.url]
    for (const { client } of asked) await client.close()
    await through.end('SIGTERM')
    // By now the owner has taken the calls over.
    const next = await CLIENTS.v1(balancer.url, async (question) => question)
    onTestFinished(() => next.close())
    for (const server of ['http', 'stdio']) await next.callTool({ name: `${server}_look`, arguments: { key: 'next' } })
    for (const { key } of asked) expect(effectsOf(key), key).toEqual(['began'])
  },
)

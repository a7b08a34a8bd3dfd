/** Typical mistakes of those who write servers and clients in plain JavaScript, and the sentence that each gets. */
import {
  connect,
  deadline,
  defaults,
  echoFetch,
  fixed,
  jar,
  resume,
  rounds,
  scope,
  scopeFetch,
  suspend,
  tasks,
  terminal,
} from 'pannier/client'
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import { postgres, postgresBus, postgresEngine, postgresTasks } from 'pannier/postgres'
import { probe } from 'pannier/probe'
import { requestStateCodec, withJournal } from 'pannier/sdk'
import { AuthError, bearer, createServer, structured } from 'pannier/server'
import {
  createSealer,
  jarServerOf,
  memoryCarryStore,
  memoryJar,
  memoryLedger,
  newKey,
  sqliteCarryStore,
  sqliteJar,
  sqliteLedger,
} from 'pannier/state'
import { createTasks, sqliteEngine, sqliteTasks } from 'pannier/tasks'
import { exercise, testClient } from 'pannier/testing'
import { expect, onTestFinished, test } from 'vitest'
import { post, type Wire } from '../fixtures/modernClient.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const options = { name: 'mistakes', version: '1', logger: silent }
const server = (more: object = {}) => createServer({ ...options, ...more })
const described = (more: object) => ({ description: 'Does it.', ...more })
const wrong = (value: unknown): never => value as never
const nowhere = 'http://127.0.0.1:1/mcp'

/** Everything that takes options, by how errors name it. */
const WITH_OPTIONS: Readonly<Record<string, (options: never) => unknown>> = {
  'rounds()': rounds,
  'tasks()': tasks,
  'scope()': scope,
  'scopeFetch()': (given) => scopeFetch(fetch, given),
  'jar()': (given) => jar(memoryJar(), given),
  'echoFetch()': (given) => echoFetch(fetch, given),
  'deadline()': (given) => deadline(1000, given),
  'fixed()': (given) => fixed({}, given),
  'defaults()': defaults,
  'terminal()': terminal,
  'suspend()': suspend,
  'resume()': (given) => resume({}, {}, wrong({}), given),
  memoryCarryStore,
  sqliteCarryStore,
  sqliteLedger,
  memoryJar,
  sqliteJar,
  jarServerOf: (given) => jarServerOf({ url: nowhere }, given),
  createSealer,
  'bearer()': bearer,
  probe: (given) => probe(nowhere, given),
  createTasks: (given) => createTasks(sqliteEngine({ path: ':memory:' }), given),
  sqliteEngine,
  postgresEngine: (given) => postgresEngine(postgres({ url: 'postgres://nobody@127.0.0.1:1/none' }), given),
  postgresBus: (given) => postgresBus(postgres({ url: 'postgres://nobody@127.0.0.1:1/none' }), given),
  requestStateCodec,
  exercise: (given) => exercise(() => server(), wrong({}), {}, given),
  testClient: (given) => testClient(server(), given),
  'drain of a server': (given) => server().drain(given),
  createGateway: async (given) => createGateway({ ...(await emptyGateway()), ...(given as object) }),
  'listen of a gateway': async (given) => createGateway(await emptyGateway()).listen(given),
  'drain of a gateway': async (given) => createGateway(await emptyGateway()).drain(given),
}

const emptyGateway = () => gatewayConfigOf({ servers: {} })

test.each<[mistake: string, sentence: string, make: () => unknown]>([
  ['a name that is no string', 'a name and a version, both strings', () => server({ name: 7 })],
  ['a principal that is no function', 'The option principal is a function', () => server({ principal: 'ann' })],
  ['a principal that is an object of settings', 'what bearer({ … })', () => server({ principal: { issuer: 'x' } })],
  ['a logger that is a function', 'an object with debug, info', () => server({ logger: () => {} })],
  ['tasks that are a path', 'what sqliteTasks({ path })', () => server({ tasks: 'tasks.db' })],
  ['a refusal without a code', 'one of: AUTH_MISSING', () => new AuthError(wrong('No token.'), '')],
  ['keys in a list', 'commas between them', () => server({ keys: [newKey(), newKey()] })],
  [
    'a tool in the style of the SDK',
    'tool("a", { description, input }, handler)',
    () => server().tool('a', wrong('Does it.'), () => ''),
  ],
  [
    'an annotation that does not exist',
    'did you mean "readOnlyHint"?',
    () => server().tool('a', described({ annotations: { readOnly: true } }), () => ''),
  ],
  [
    'a template that is added as a resource',
    'added with resourceTemplate',
    () => server().resource('note://{id', { name: 'note' }, () => ''),
  ],
  ['a path without its slash', 'must begin with a slash: "/mcp"', () => server().listen({ path: 'mcp' })],
  ['a request that is an address', 'fetch needs a Request', () => server().fetch(wrong('http://localhost/mcp'))],
  ['a store that is a path', 'sqliteTasks needs an object', () => sqliteTasks(wrong('tasks.db'))],
  ['a store without a path', 'needs the path of a file', () => sqliteTasks(wrong({}))],
  ['a store whose path is a file', 'sqliteTasks has no option "file"', () => sqliteTasks(wrong({ file: 'tasks.db' }))],
  ['a database without an address', 'postgres() needs an object', () => postgres(wrong(undefined))],
  [
    'a database of tasks with another limit',
    'did you mean "pollMs"?',
    () => postgresTasks(postgres({ url: 'postgres://nobody@127.0.0.1:1/none' }), wrong({ poll: 50 })),
  ],
  ['a ledger with another limit', 'memoryLedger has no option "max"', () => memoryLedger(wrong({ max: 5 }))],
  ['a codec without keys', 'or set PANNIER_KEYS', () => requestStateCodec({ audience: 'a' })],
  ['a journal without a codec', 'withJournal needs an object', () => withJournal(wrong(undefined))],
  ['an exercise without a server', 'a function that creates a server', () => exercise(wrong(undefined), wrong({}))],
  [
    'a client with an option that does not exist',
    'connect has no option "onElicitation"',
    () => connect(nowhere, wrong({ onElicitation: () => {} })),
  ],
  ['answerers that are one function', 'what each answers', () => connect(nowhere, { answerers: wrong(() => {}) })],
  ['an answerer of no kind', 'did you mean "form"?', () => connect(nowhere, { answerers: wrong({ forms: () => {} }) })],
  [
    'an answerer that is an answer',
    '"form" is a function',
    () => connect(nowhere, { answerers: wrong({ form: { action: 'accept' } }) }),
  ],
  ...Object.entries(WITH_OPTIONS).map(([name, make]): [string, string, () => unknown] => [
    `an option of ${name} that does not exist`,
    `${name.replace(/ .*/, '')} has no option "nope"`,
    () => make(wrong({ nope: 1 })),
  ]),
  [
    'a gateway that is given the file itself',
    'createGateway needs what readGatewayConfig("mcp.json") or gatewayConfigOf',
    () => createGateway(wrong({ mcpServers: {} })),
  ],
])('%s is refused with a sentence', async (_, sentence, make) => {
  const open = Promise.resolve().then(make)
  await expect(open).rejects.toThrow(sentence)
})

test('what a handler asks or returns in a wrong form is told to its caller', async () => {
  const tools = server()
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  tools.tool('cycle', { description: 'Returns what is no JSON.' }, () => ({ content: [], structuredContent: cycle }))
  tools.tool('bigint', { description: 'Returns what is no JSON.' }, () => structured({ n: 5n }))
  tools.tool('visit', { description: 'Sends to no address.' }, async (_, ctx) => {
    await ctx.visit('page', 'not an address', 'Please pay.')
    return ''
  })
  tools.tool('sample', { description: 'Samples a text.' }, async (_, ctx) => {
    await ctx.sample('poem', wrong('Write a poem.'))
    return ''
  })
  const { url } = await tools.listen({ drainOnTerm: false })
  onTestFinished(() => tools.drain({ deadlineMs: 0, idleMs: 0 }))
  const said = async (name: string): Promise<Wire> => {
    const capabilities = { elicitation: { url: {} }, sampling: {} }
    return (await post(url, { params: { name, arguments: {} }, capabilities })).message.result
  }
  const failing = (sentence: string) => ({ isError: true, content: [{ text: expect.stringContaining(sentence) }] })
  const unwritable = (tool: string): string =>
    `The result of the tool "${tool}" cannot be written as JSON; give a bigint as a string, and look for a cycle`
  expect(await said('cycle')).toMatchObject(failing(unwritable('cycle')))
  expect(await said('bigint')).toMatchObject(failing(unwritable('bigint')))
  expect(await said('visit')).toMatchObject(failing('the url is a whole address'))
  expect(await said('sample')).toMatchObject(failing('needs messages and maxTokens'))
})

test('the log names the tool, the prompt and the resource whose handler threw', async () => {
  const said: object[] = []
  const broken = server({ logger: { ...silent, error: (details: object) => void said.push(details) } })
  const fails = (): never => {
    throw new Error('out of paper')
  }
  broken.tool('print', described({}), fails)
  broken.prompt('letter', described({}), fails)
  broken.resource('note://all', { name: 'all' }, fails)
  broken.resourceTemplate('note://{id}', { name: 'note' }, fails)
  const { url } = await broken.listen({ drainOnTerm: false })
  onTestFinished(() => broken.drain({ deadlineMs: 0, idleMs: 0 }))
  await post(url, { params: { name: 'print', arguments: {} } })
  await post(url, { method: 'prompts/get', params: { name: 'letter' } })
  await post(url, { method: 'resources/read', params: { uri: 'note://all' } })
  await post(url, { method: 'resources/read', params: { uri: 'note://private' } })
  const err = expect.objectContaining({ message: 'out of paper' })
  expect(said).toEqual([
    { tool: 'print', err },
    { method: 'prompts/get', prompt: 'letter', err },
    { method: 'resources/read', resource: 'note://all', err },
    { method: 'resources/read', resource: 'note://{id}', err }, // addresses of callers may have secrets
  ])
})

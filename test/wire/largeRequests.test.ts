/** No single request holds the event loop for long, whatever its shape: in CPU time, as a multiple of what it takes to parse one. */
import { createServer } from 'pannier/server'
import { beforeAll, expect, test } from 'vitest'
import { envelope, VERSION } from '../fixtures/modernClient.ts'

// Below the largest body and the most values that are read.
const CHARS = 3_800_000
const VALUES = 38_000
// Of what is measured, the most is four and a half.
const MOST = 12

const form = { message: 'Who?', schema: { type: 'object', properties: { name: { type: 'string' } } } } as const
const checked = {
  type: 'object',
  properties: { unique: { type: 'array', uniqueItems: true }, list: { type: 'string', pattern: '^[a-z]+(,[a-z]+)*$' } },
  patternProperties: { '^\\d': { type: 'string' } },
} as const

const server = createServer({
  name: 'large',
  version: '1',
  logger: { debug() {}, info() {}, warn() {}, error() {} },
})
server.tool('plain', { description: 'Takes anything.' }, () => 'done')
server.tool('checked', { description: 'Takes what fits.', input: checked }, () => 'done')
server.tool('ask', { description: 'Asks.' }, async (_, ctx) => {
  await ctx.ask('name', form)
  return 'done'
})

const keys = Object.fromEntries(Array.from({ length: VALUES }, (_, index) => [`${index}`.padEnd(95, 'k'), 1]))
const objects = Array.from({ length: VALUES / 3 }, (_, index) => ({ index, text: 'x'.repeat(250) }))
const nested = Array.from({ length: VALUES / 120 }, () => {
  let value: unknown = 'x'.repeat(11_000)
  for (let depth = 0; depth < 110; depth++) value = [value]
  return value
})

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
let session = ''
let parseMs = 0

function post(body: string, more: Record<string, string>): Promise<Response> {
  return server.fetch(new Request('http://localhost/mcp', { method: 'POST', headers: { ...headers, ...more }, body }))
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** The least of three: what else the machine does can only add to it. */
async function leastMs(work: () => unknown): Promise<number> {
  const times: number[] = []
  for (let turn = 0; turn < 3; turn++) {
    const before = cpuMs()
    await work()
    times.push(cpuMs() - before)
  }
  return Math.min(...times)
}

beforeAll(async () => {
  const text = JSON.stringify(keys)
  parseMs = await leastMs(() => JSON.parse(text) as unknown)
  const capabilities = { elicitation: {} }
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'raw', version: '1' } }
  const begun = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }), {})
  session = begun.headers.get('mcp-session-id') ?? ''
})

const call = (name: string, args: unknown, more: object = {}) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: args, _meta: envelope(), ...more },
  })
const inSession = (name: string, args: unknown) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })

test.each<[string, string, () => string]>([
  ['many keys', 'plain', () => call('plain', keys)],
  ['many keys that a state is bound to', 'ask', () => call('ask', keys)],
  ['many keys that a schema looks at', 'checked', () => call('checked', keys)],
  ['many unique objects', 'checked', () => call('checked', { unique: objects })],
  ['many unique deep lists', 'checked', () => call('checked', { unique: nested })],
  ['a long text that hardly fits', 'checked', () => call('checked', { list: `${'ab,'.repeat(CHARS / 3)}!` })],
  ['a text of control characters', 'ask', () => call('ask', { text: '\u0001'.repeat(CHARS / 6) })],
  ['many members of _meta', 'plain', () => call('plain', {}, { _meta: envelope({}, keys) })],
  ['many answers', 'ask', () => call('ask', {}, { inputResponses: keys })],
  ['a large answer', 'ask', () => call('ask', {}, { inputResponses: { name: { action: 'accept', content: keys } } })],
  ['a large state', 'ask', () => call('ask', {}, { requestState: 'A'.repeat(CHARS) })],
  ['very deep nesting', 'plain', () => '['.repeat(CHARS / 2) + ']'.repeat(CHARS / 2)],
  ['very many open objects', 'plain', () => '{"a":'.repeat(CHARS / 5)],
  ['spaces', 'plain', () => `${' '.repeat(CHARS)}1`],
  ['many keys, in a session that is asked', '', () => inSession('ask', keys)],
  ['deep lists, in a session that is asked', '', () => inSession('ask', { nested })],
])('a request with %s takes no more than a few times the CPU time of parsing one', async (_, name, write) => {
  const body = write()
  const more: Record<string, string> =
    name === ''
      ? { 'mcp-session-id': session }
      : { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': name }
  const ms = await leastMs(async () => {
    const reader = (await post(body, more)).body?.getReader()
    await reader?.read()
    await reader?.cancel()
  })
  expect(ms / parseMs).toBeLessThan(MOST)
})

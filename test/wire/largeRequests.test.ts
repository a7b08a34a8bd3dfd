/**
 * No single request holds the event loop for long, whatever its shape and its answer. CPU time is measured, as a multiple
 * of what it takes to parse an object of 40,000 keys in 4 MB: 30 ms on the machine on which 100 ms is the aim.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { envelope, TAKES_TASKS, VERSION } from '../fixtures/modernClient.ts'

// Below the largest body, and the most keys and values that are read: these are all of a request.
const CHARS = 3_800_000
const ITEMS = 19_800
const KEYS = ITEMS / 2
/** A hundred milliseconds there. Of what is measured, the most is two. */
const MOST = 3.3
const TURNS = 12

const form = { message: 'Who?', schema: { type: 'object', properties: { name: { type: 'string' } } } } as const
const checked = {
  type: 'object',
  properties: { unique: { type: 'array', uniqueItems: true }, list: { type: 'string', pattern: '^[a-z]+(,[a-z]+)*$' } },
  patternProperties: { '^\\d': { type: 'number' } },
} as const

const folder = mkdtempSync(join(tmpdir(), 'pannier-large-'))
const server = createServer({
  name: 'large',
  version: '1',
  logger: { debug() {}, info() {}, warn() {}, error() {} },
  tasks: sqliteTasks({ path: join(folder, 'tasks.db') }),
})
server.tool('plain', { description: 'Takes anything.' }, () => 'done')
server.tool('checked', { description: 'Takes what fits.', input: checked }, () => 'done')
server.tool('ask', { description: 'Asks.' }, async (_, ctx) => {
  await ctx.ask('name', form)
  return 'done'
})
server.tool('keep', { description: 'Records its arguments, and asks.' }, async (args, ctx) => {
  await ctx.step('args', () => args)
  await ctx.ask('name', form)
  return 'done'
})
server.tool('job', { description: 'Is a task.', task: 'required' }, () => 'done')

const objectOf = (count: number, key: (index: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [key((index * 7919) % 100_000), 1]))
const yard = JSON.stringify(objectOf(40_000, (index) => `${index}`.padEnd(95, 'k')))
const keys = objectOf(KEYS, (index) => `${index}k`.padEnd(380, 'k'))
const short = objectOf(KEYS, (index) => `${index}`)
const wide = objectOf(KEYS, (index) => `${index}`.padEnd(126, '字'))
const escaped = objectOf(KEYS, (index) => `${index}`.padEnd(190, '\n'))
const objects = Array.from({ length: ITEMS / 6 }, (_, index) => ({ index, text: 'x'.repeat(1000) }))
const nested = Array.from({ length: ITEMS / 120 }, () => {
  let value: unknown = 'x'.repeat(22_000)
  for (let depth = 0; depth < 110; depth++) value = [value]
  return value
})

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const sessions: Record<string, string> = {}

function post(body: string, more: Record<string, string>): Promise<Response> {
  return server.fetch(new Request('http://localhost/mcp', { method: 'POST', headers: { ...headers, ...more }, body }))
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = cpuMs()
  await work()
  return cpuMs() - before
}

/**
 * The least of some turns: what else the machine does can only add to it. The machine may be slower at one time than at
 * another, so each turn is compared with the parsing before it.
 */
async function leastRatio(work: () => Promise<void>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let turn = 0; turn < TURNS && least >= MOST; turn++) {
    const parsing = await cpuMsOf(() => JSON.parse(yard) as unknown)
    least = Math.min(least, (await cpuMsOf(work)) / parsing)
  }
  return least
}

beforeAll(async () => {
  for (const protocolVersion of ['2025-11-25', '2025-03-26']) {
    const params = { protocolVersion, capabilities: { elicitation: {} }, clientInfo: { name: 'raw', version: '1' } }
    const begun = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }), {})
    sessions[protocolVersion] = begun.headers.get('mcp-session-id') ?? ''
  }
})

afterAll(async () => {
  await server.drain({ deadlineMs: 0, idleMs: 0 })
  rmSync(folder, { recursive: true, force: true })
})

const request = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
const call = (name: string, args: unknown, more: object = {}) =>
  request('tools/call', { name, arguments: args, _meta: envelope(TAKES_TASKS), ...more })
const inSession = (name: string, args: unknown) => request('tools/call', { name, arguments: args })
const initialize = (capabilities: object) =>
  request('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'raw', version: '1' } })

const accepted = (content: object) => ({ inputResponses: { name: { action: 'accept', content } } })

async function expectQuick(body: string, more: Record<string, string>, answer: string): Promise<void> {
  const ratio = await leastRatio(async () => {
    const reader = (await post(body, more)).body?.getReader()
    const chunk = await reader?.read()
    expect(Buffer.from(chunk?.value ?? []).toString()).toContain(answer)
    await reader?.cancel()
  })
  expect(ratio).toBeLessThan(MOST)
}

test.each<[what: string, tool: string, answer: string, body: () => string]>([
  ['many keys', 'plain', 'done', () => call('plain', keys)],
  ['many keys that a state is bound to', 'ask', 'input_required', () => call('ask', keys)],
  ['many keys that are not ASCII', 'ask', 'input_required', () => call('ask', wide)],
  ['many keys that are written with escapes', 'ask', 'input_required', () => call('ask', escaped)],
  ['many keys that a step records', 'keep', 'too large to send', () => call('keep', wide)],
  ['many keys that a schema looks at', 'checked', 'done', () => call('checked', keys)],
  ['many keys for a task', 'job', 'taskId', () => call('job', keys)],
  ['many keys for a tool that is not there', 'none', 'There is no tool', () => call('none', keys)],
  ['many keys for another tool than its header says', 'ask', 'error', () => call('plain', keys)],
  ['more keys than are read', 'plain', 'keys and values', () => call('plain', { keys, more: short })],
  ['many unique objects', 'checked', 'done', () => call('checked', { unique: objects })],
  ['many unique deep lists', 'checked', 'duplicate', () => call('checked', { unique: nested })],
  [
    'a long text that hardly fits',
    'checked',
    'pattern',
    () => call('checked', { list: `${'ab,'.repeat(CHARS / 3)}!` }),
  ],
  ['a text of control characters', 'ask', 'input_req', () => call('ask', { text: '\u0001'.repeat(CHARS / 6) })],
  ['a text of quotes', 'ask', 'input_required', () => call('ask', { text: '"'.repeat(CHARS / 2) })],
  ['many members of _meta', 'plain', 'done', () => call('plain', {}, { _meta: envelope({}, keys) })],
  ['many answers', 'ask', 'input_required', () => call('ask', {}, { inputResponses: keys })],
  ['a large answer', 'ask', 'input_required', () => call('ask', {}, accepted(keys))],
  ['a large state', 'ask', 'error', () => call('ask', {}, { requestState: 'A'.repeat(CHARS) })],
  ['very deep nesting', 'plain', 'nests deeper', () => '['.repeat(CHARS / 2) + ']'.repeat(CHARS / 2)],
  ['very many open objects', 'plain', 'nests deeper', () => '{"a":'.repeat(CHARS / 5)],
  ['spaces', 'plain', 'error', () => `${' '.repeat(CHARS)}1`],
])('a request with %s takes no more than a few times the CPU time of parsing', async (_, name, answer, write) => {
  await expectQuick(write(), { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': name }, answer)
})

test.each<[what: string, version: string, answer: string, body: () => string]>([
  ['many keys, in a session that is asked', '2025-11-25', 'id: ', () => inSession('ask', wide)],
  ['deep lists, in a session that is asked', '2025-11-25', 'id: ', () => inSession('ask', { nested })],
  ['many keys, to begin a session', '', 'too large', () => initialize({ experimental: keys })],
  ['a batch of one that asks', '2025-03-26', 'id: ', () => `[${inSession('ask', wide)}]`],
  [
    'a batch of many',
    '2025-03-26',
    'error',
    () =>
      `[${Array(ITEMS / 12)
        .fill(inSession('plain', {}))
        .join()}]`,
  ],
])('a request with %s takes no more than a few times the CPU time of parsing', async (_, version, answer, write) => {
  const session = sessions[version]
  const more = session === undefined ? {} : { 'mcp-session-id': session, 'mcp-protocol-version': version }
  await expectQuick(write(), more, answer)
})

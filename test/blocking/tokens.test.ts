/** A token that was never given out costs no memory that stays, where servers take the tokens of callers. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Backends } from './fixtures/backends.ts'
import { Subject } from './fixtures/subject.ts'
import { Sender } from './shapes/sender.ts'

const TOKENS = 100
/** One list of all tools is larger than this in memory. */
const MOST_BYTES = 64 * 1024

let backends: Backends
let subject: Subject
let client: Sender

beforeEach(async () => {
  backends = await Backends.start()
  subject = await Subject.start(backends.entries)
  client = await Sender.connect(subject)
})

afterEach(async () => {
  await subject.close()
  backends.close()
})

async function list(token: string, path = '/mcp', tool = 'modern_echo'): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const { text } = await subject.send(client.modern(path, 'tools/list', {}, { headers }))
  expect(text).toContain(tool)
}

async function bytesPerToken(): Promise<number> {
  for (let turn = 0; turn < 10; turn++) await list(`early ${turn}`) // what is made once
  const before = await subject.ask('heap')
  for (let turn = 0; turn < TOKENS; turn++) await list(`bogus ${turn}`)
  return ((await subject.ask('heap')) - before) / TOKENS
}

test('where the server lists the same to each token, they share one copy of it', async () => {
  expect(await bytesPerToken()).toBeLessThan(MOST_BYTES)
})

test('where the server refuses them, they share what all others are listed', async () => {
  backends.replyTo = ({ headers }) => (headers.authorization === undefined ? undefined : { status: 401 })
  expect(await bytesPerToken()).toBeLessThan(MOST_BYTES)
})

test('where the server lists something else to each of them, no more stays for many than for some', async () => {
  let listed = 0
  backends.replyTo = ({ id, method, headers }) => {
    if (method !== 'tools/list' || headers.authorization === undefined) return undefined
    const description = `${listed++}`.padEnd(100_000, 'x')
    const tools = Array.from({ length: 30 }, (_, at) => ({
      name: `t${at}`,
      description,
      inputSchema: { type: 'object' },
    }))
    const result = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'private', tools }
    return { body: JSON.stringify({ jsonrpc: '2.0', id, result }) }
  }
  for (let turn = 0; turn < 15; turn++) await list(`early ${turn}`, '/mcp/own', 't29') // as much as is kept, and pages that are made of it
  const before = await subject.ask('heap')
  for (let turn = 0; turn < 30; turn++) await list(`bogus ${turn}`, '/mcp/own', 't29')
  expect((await subject.ask('heap')) - before).toBeLessThan(16 * 1024 * 1024)
})

/** A token that was never given out costs no memory that stays, where servers take the tokens of callers. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Backends } from './fixtures/backends.ts'
import { Subject } from './fixtures/subject.ts'
import { Sender } from './shapes/sender.ts'

const TOKENS = 40
/** One list of all tools is larger than this in memory. */
const MOST_BYTES = 64 * 1024

/** Measurements of the heap before, the least of which counts: garbage may be collected late. */
const MEASUREMENTS = 5

let backends: Backends
let subject: Subject
let client: Sender

beforeAll(async () => {
  backends = await Backends.start()
  subject = await Subject.start(backends.entries)
  client = await Sender.connect(subject)
})

afterEach(() => {
  backends.replyTo = () => undefined
})

afterAll(async () => {
  await subject.close()
  backends.close()
})

async function list(token: string, path = '/mcp', tool = 'modern_echo'): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const { text } = await subject.send(client.modern(path, 'tools/list', {}, { headers }))
  expect(text).toContain(tool)
}

/** Expects that what is listed to these tokens leaves less than this in the heap. */
async function expectKept(mostBytes: number, listAll: () => Promise<void>): Promise<void> {
  const before: number[] = []
  while (before.length < MEASUREMENTS) before.push(await subject.ask('heap'))
  await listAll()
  await expect.poll(async () => (await subject.ask('heap')) - Math.min(...before)).toBeLessThan(mostBytes)
}

/** Names of tokens are those of one test alone. */
async function expectShared(name: string): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await list(`${name} early ${turn}`) // what is made once
  await expectKept(TOKENS * MOST_BYTES, async () => {
    for (let turn = 0; turn < TOKENS; turn++) await list(`${name} ${turn}`)
  })
}

test('where the server lists the same to each token, they share one copy of it', async () => {
  await expectShared('same')
})

test('where the server refuses them, they share what all others are listed', async () => {
  backends.replyTo = ({ headers }) => (headers.authorization === undefined ? undefined : { status: 401 })
  await expectShared('refused')
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
  await expectKept(16 * 1024 * 1024, async () => {
    for (let turn = 0; turn < 15; turn++) await list(`bogus ${turn}`, '/mcp/own', 't29')
  })
})

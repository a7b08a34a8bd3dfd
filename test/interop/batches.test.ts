/** Batches, which the revision 2025-03-26 has and no other. */
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Instance, startHere } from './fixtures/instances.ts'
import { MessageStream } from './fixtures/messageStream.ts'
import { post, RawSession } from './fixtures/rawSession.ts'
import { RawStdio } from './fixtures/rawStdio.ts'

const VERSION = '2025-03-26'
const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })
const notification = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' }
const call = (id: number, name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})
const text = (id: number, value: string) => ({ id, result: { content: [{ type: 'text', text: value }] } })

let one: Instance
let two: Instance

beforeAll(async () => {
  ;[one, two] = await Promise.all([startHere(), startHere()])
})
afterAll(() => {
  one.close()
  two.close()
})

function begin(version = VERSION): Promise<RawSession> {
  return RawSession.begin(one.url, { version, capabilities: { elicitation: {} } })
}

test('each request of a batch has its response in one array', async () => {
  const response = await (await begin()).send([ping(1), notification, call(2, 'echo', { text: 'hi' })])
  expect(response.status).toBe(200)
  const responses = (await response.json()) as { id: number }[]
  expect(responses.toSorted((a, b) => a.id - b.id)).toMatchObject([{ id: 1, result: {} }, text(2, 'hi')])
})

test('one bad message of a batch is an error of its own', async () => {
  const bad = { jsonrpc: '2.0', id: 2, method: 7 }
  const initialize = { jsonrpc: '2.0', id: 3, method: 'initialize', params: {} }
  const responses = (await (await (await begin()).send([ping(1), bad, 'text', initialize])).json()) as object[]
  expect(responses).toHaveLength(4)
  expect(responses).toContainEqual(expect.objectContaining({ id: 1, result: expect.anything() }))
  const invalid = expect.objectContaining({ code: -32600 })
  expect(responses).toContainEqual(expect.objectContaining({ id: 2, error: invalid }))
  expect(responses).toContainEqual(expect.objectContaining({ id: 3, error: invalid }))
})

test('a call of a batch asks on the stream of the batch, and answers come as a batch at another instance', async () => {
  const session = await begin()
  const calls = [call(1, 'greet'), ping(2), call(3, 'greet')]
  const stream = new MessageStream(await session.send(calls), new AbortController())
  const first = [await stream.next(), await stream.next(), await stream.next()]
  const questions = first.filter(({ method }) => method === 'elicitation/create')
  expect(questions).toHaveLength(2)
  session.url = two.url
  const answers = questions.map(({ id }, index) => ({
    jsonrpc: '2.0',
    id,
    result: { action: 'accept', content: { name: ['Ann', 'Bob'][index] } },
  }))
  const taken = await session.send(answers)
  expect([taken.status, await taken.text()]).toEqual([202, ''])
  const ended = (await stream.rest()).toSorted((a, b) => Number(a.id) - Number(b.id))
  expect(ended).toMatchObject([text(1, 'Hello Ann'), text(3, 'Hello Bob')])
})

test('a request that names no version and no session is of this revision', async () => {
  expect(await (await post(one.url, {}, [ping(1)])).json()).toMatchObject([{ id: 1 }])
})

test.each([
  ['in a session of another revision', '2025-06-18', [ping(1)]],
  ['that is empty', VERSION, []],
  ['of more than a hundred messages', VERSION, Array.from({ length: 101 }, (_, index) => ping(index))],
])('a batch %s is refused', async (_, version, batch) => {
  const response = await (await begin(version)).send(batch)
  expect([response.status, await response.json()]).toMatchObject([400, { error: { code: -32600 } }])
})

test('a batch with the stateless version is refused', async () => {
  const response = await post(one.url, { 'mcp-protocol-version': '2026-07-28' }, [ping(1)])
  expect([response.status, await response.json()]).toMatchObject([400, { error: { code: -32600 } }])
})

test('a batch of answers that cannot be read is refused', async () => {
  const response = await (await begin()).send([{ jsonrpc: '2.0', id: 1, result: 'none' }])
  expect(response.status).toBe(400)
})

test('a line with a batch is served message by message', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const served = one.server.stdio({ input, output, drainOnTerm: false })
  const client = new RawStdio(input, output)
  client.send({ id: 0, method: 'initialize', params: { protocolVersion: VERSION, capabilities: {} } })
  await client.next()
  input.write(`${JSON.stringify([ping(1), notification, call(2, 'echo', { text: 'hi' })])}\n`)
  const heard = [await client.next(), await client.next()].toSorted((a, b) => Number(a.id) - Number(b.id))
  expect(heard).toMatchObject([{ id: 1, result: {} }, text(2, 'hi')])
  input.end()
  await served
})

test('responses that are together too large for one array are errors of their own', async () => {
  const large = await startHere()
  large.server.tool('large', { description: 'Says much.' }, () => 'x'.repeat(9 * 1024 * 1024))
  try {
    const response = await post(large.url, {}, [...Array.from({ length: 9 }, (_, id) => call(id, 'large')), ping(9)])
    expect(response.status).toBe(200)
    const responses = (await response.json()) as { id: number; error?: object }[]
    expect(responses.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, id) => id))
    const refused = responses.filter(({ error }) => error !== undefined)
    expect(refused).toHaveLength(2)
    expect(refused[0]).toMatchObject({ error: { code: -32603, message: expect.stringContaining('by itself') } })
  } finally {
    large.close()
  }
})

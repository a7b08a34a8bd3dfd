/** What the SDK's clients do not do on standard streams. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { createServer } from 'pannier/server'
import { expect, test } from 'vitest'
import { proves } from '../proves.ts'
import { commandOf, quiet, STDIO_PROGRAM } from './fixtures/instances.ts'
import { offer } from './fixtures/tools.ts'
import { RawStdio } from './fixtures/rawStdio.ts'

const asking = { elicitation: {}, sampling: {}, roots: {} }
const text = (value: string) => ({ result: { content: [{ type: 'text', text: value }] } })
const server = () => offer(createServer({ name: 'interop', version: '1.0.0', logger: quiet }))

function connect(to = server()): { client: RawStdio; end(): Promise<void> } {
  const input = new PassThrough()
  const output = new PassThrough()
  const served = to.stdio({ input, output })
  const end = (): Promise<void> => {
    input.end()
    return served
  }
  return { client: new RawStdio(input, output), end }
}

proves('RA-2 RA-12', 'on stdio, too, nothing is asked again once the request is answered', async () => {
  const { client, end } = connect()
  await client.initialize(asking)
  client.send({ id: 2, method: 'tools/call', params: { name: 'ask_and_leave' } })
  const question = await client.next()
  expect(question.method).toBe('elicitation/create')
  expect(await client.next()).toMatchObject({ method: 'notifications/cancelled', params: { requestId: question.id } })
  expect(await client.next()).toMatchObject({ id: 2, result: { isError: true } })
  client.send({ id: question.id, result: { action: 'accept', content: { name: 7 } } })
  client.send({ id: 3, method: 'ping' })
  expect(await client.next()).toEqual({ jsonrpc: '2.0', id: 3, result: {} })
  await end()
})

test('one connection can serve both eras, request by request', async () => {
  const { client, end } = connect()
  await client.initialize(asking)
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
  const _meta = { ...meta, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }
  client.send({ id: 1, method: 'tools/call', params: { name: 'greet', _meta } })
  expect(await client.next()).toMatchObject({ id: 1, result: { resultType: 'input_required' } })
  client.send({ id: 2, method: 'tools/call', params: { name: 'greet' } })
  expect(await client.next()).toMatchObject({ method: 'elicitation/create' })
  await end()
})

test("two connections of one server do not share a log level, nor each other's questions", async () => {
  const shared = server()
  const [one, two] = [connect(shared), connect(shared)]
  await Promise.all([one.client.initialize(asking), two.client.initialize(asking)])
  one.client.send({ id: 1, method: 'logging/setLevel', params: { level: 'emergency' } })
  await one.client.next()
  two.client.send({ id: 1, method: 'tools/call', params: { name: 'chatter' } })
  expect(await two.client.next()).toMatchObject({ method: 'notifications/message', params: { data: 'said at info' } })
  one.client.send({ id: 2, method: 'tools/call', params: { name: 'greet' } })
  const { id } = await one.client.next()
  two.client.send({ id, result: { action: 'accept', content: { name: 'Eve' } } })
  one.client.send({ id, result: { action: 'accept', content: { name: 'Ann' } } })
  expect(await one.client.next()).toMatchObject(text('Hello Ann'))
  await Promise.all([one.end(), two.end()])
})

test('a program whose client stops reading ends, and ends well', async () => {
  const { command, args, env } = commandOf(STDIO_PROGRAM)
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  const client = new RawStdio(child.stdin, child.stdout)
  await client.initialize()
  child.stdout.destroy()
  client.send({ id: 1, method: 'ping' })
  expect(await exit).toEqual([0, null])
})

/** An instance that advertises an address which does not lead to it. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { localBus, type Logger, type ServerOptions } from 'pannier/server'
import { memoryCarryStore, memoryLedger } from 'pannier/state'
import { afterEach, expect, test } from 'vitest'
import { hostUntil } from '../fixtures/until.ts'
import { type Instance, quiet, startHere } from './fixtures/instances.ts'
import { RawSession } from './fixtures/rawSession.ts'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function start(options: Partial<ServerOptions>): Promise<Instance> {
  const instance = await startHere(options)
  closers.push(() => instance.close())
  return instance
}

/** A server that is none of ours: every message to it is refused. */
async function stranger(): Promise<string> {
  const { url } = await hostUntil((_, res) => res.writeHead(404).end())
  return url
}

/** Starts an instance there, and waits until it has found out that it is not there. */
async function startAstray(advertise: string, options: Partial<ServerOptions>): Promise<Instance> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const logger: Logger = { ...quiet, warn: (_, message) => /does not reach itself/.test(message) && resolve() }
  const instance = await start({ ...options, advertise, logger })
  await promise
  return instance
}

const NOBODY = 'http://127.0.0.1:9/mcp'
const echoing = { elicitation: {}, experimental: { 'dev.pannier/state-echo': {} } }
const answer = { action: 'accept', content: { name: 'Ann' } }
const greeted = { result: { content: [{ text: 'Hello Ann' }] } }

test.each([
  ['nobody is, and its client echoes states', () => NOBODY, echoing, undefined],
  ['nobody is, and there is a store', () => NOBODY, { elicitation: {} }, memoryCarryStore()],
  ['something else is, and its client echoes states', stranger, echoing, undefined],
  ['another instance is, and its client echoes states', async () => (await start({})).url, echoing, undefined],
])('where %s: an answer at another instance is refused at once, and none goes on beside it', async (...row) => {
  const [, address, capabilities, store] = row
  const shared = { ledger: memoryLedger(), ...(store && { store }) }
  const other = await start(shared)
  const astray = await startAstray(await address(), shared)
  const session = await RawSession.begin(astray.url, { capabilities })
  expect(session.initialized).toMatchObject({ result: { capabilities: { session: { poolable: false } } } })
  const call = await session.call('greet')
  const question = await call.next()
  session.url = other.url
  expect((await session.answer(question, answer, { state: question.state })).status).toBe(421)
  expect(other.server.inFlight).toBe(0)
  session.url = astray.url
  await session.answer(question, answer, { state: question.state })
  expect(await call.next()).toMatchObject(greeted)
})

test('over a bus its answers find it all the same', async () => {
  const shared = { ledger: memoryLedger(), bus: localBus() }
  const other = await start(shared)
  const astray = await startAstray(NOBODY, shared)
  const session = await RawSession.begin(astray.url, { capabilities: echoing })
  expect(session.initialized).toMatchObject({ result: { capabilities: { session: { poolable: true } } } })
  const call = await session.call('greet')
  const question = await call.next()
  session.url = other.url
  await session.answer(question, answer, { state: question.state })
  expect(await call.next()).toMatchObject(greeted)
})

test('a client that comes back to another instance is told within seconds that its call cannot be reached', async () => {
  const other = await start({})
  const astray = await startAstray(NOBODY, {})
  const session = await RawSession.begin(astray.url, { capabilities: echoing })
  const call = await session.call('greet')
  await call.next()
  call.close()
  session.url = other.url
  const [told] = await (await session.listen(call.lastEventId)).rest()
  expect(told).toMatchObject({
    error: { message: expect.stringContaining('cannot be reached from here'), data: { code: 'CALL_UNREACHABLE' } },
  })
})

/** A port of loopback at which nobody listens yet, and what opens it: it leads to the instance that `to` gives. */
async function laterAddress(to: () => string): Promise<{ advertise: string; open(): Promise<void> }> {
  const relay = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const headers = Object.entries(req.headers).filter((entry): entry is [string, string] => entry[0] !== 'host')
      void fetch(to(), {
        method: 'POST',
        headers: headers.filter(([name]) => /^content-type|^accept|^mcp|^pannier/.test(name)),
        body: Buffer.concat(chunks),
      }).then(async (reply) => res.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text()))
    })
  })
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  const { port } = relay.address() as AddressInfo
  await new Promise((resolve) => relay.close(resolve))
  closers.push(() => relay.close())
  const open = (): Promise<void> => new Promise((resolve) => relay.listen(port, '127.0.0.1', resolve))
  return { advertise: `http://127.0.0.1:${port}/mcp`, open }
}

const isPoolable = async (url: string): Promise<unknown> => (await RawSession.begin(url)).initialized
const POOLABLE = { result: { capabilities: { session: { poolable: true } } } }

test('an address that leads to the instance a moment after its start is used from then on', async () => {
  const { advertise, open } = await laterAddress(() => astray.url)
  const astray = await startAstray(advertise, {})
  await open()
  await expect.poll(() => isPoolable(astray.url)).toMatchObject(POOLABLE)
})

test('a question that was asked before the instance had an address is answered at another instance afterwards', async () => {
  const other = await start({})
  const { advertise, open } = await laterAddress(() => astray.url)
  const astray = await startAstray(advertise, { peers: [other.url] })
  const session = await RawSession.begin(astray.url, { capabilities: { elicitation: {} } })
  const call = await session.call('greet')
  const question = await call.next()
  session.url = other.url
  expect((await session.answer(question, answer)).status).toBe(421)
  await open()
  await expect.poll(async () => (await session.answer(question, answer)).status).toBe(202)
  expect(await call.next()).toMatchObject(greeted)
})

/** Calls of session-era clients while instances come, stop and crash. Each instance is stopped as SIGTERM stops it. */
import { Agent, createServer as createHttpServer, request as httpRequest, type RequestListener } from 'node:http'
import { connect } from 'node:net'
import { createServer, type ServerOptions } from 'pannier/server'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { startHttpHost } from '../fixtures/httpHost.ts'
import { KEYS, quiet, startProgram } from './fixtures/instances.ts'
import { RawSession } from './fixtures/rawSession.ts'
import { offer } from './fixtures/tools.ts'

const capabilities = { elicitation: {} }
const ann = { action: 'accept', content: { name: 'Ann' } }
const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

interface Instance {
  readonly url: string
  /** How many calls of `ask_until_cancelled` were cancelled here. */
  aborted: number
  /** An idle connection is closed after `idleMs`. @default 100 */
  stop(idleMs?: number): Promise<void>
}

/** An instance in this process; at the address of another, if one is given. */
async function start(at?: { readonly url: string }, options: Partial<ServerOptions> = {}): Promise<Instance> {
  const server = offer(createServer({ name: 'interop', version: '1.0.0', keys: KEYS, logger: quiet, ...options }))
  server.tool('ask_until_cancelled', { description: 'Asks.' }, async (_, ctx) => {
    ctx.signal.addEventListener('abort', () => instance.aborted++)
    return (await ctx.ask('name', { message: 'Who?', schema: z.object({ name: z.string() }) })).name
  })
  const port = at === undefined ? 0 : Number(new URL(at.url).port)
  const { url } = await server.listen({ port, drainOnTerm: false })
  server.tool('hang_up', { description: 'Lets the connection go, then answers.' }, async (_, ctx) => {
    ctx.hangUp(1)
    await new Promise((resolve) => setImmediate(resolve))
    return 'after that'
  })
  const stop = (idleMs = 100): Promise<void> => server.drain({ deadlineMs: 5000, idleMs })
  const instance: Instance = { url, stop, aborted: 0 }
  closers.push(() => stop())
  return instance
}

/** A session whose first call is answered at the other instance, which forwards it: so the two know each other. */
async function sessionOf(begunAt: { url: string }, usedAt: { url: string }): Promise<RawSession> {
  const session = await RawSession.begin(begunAt.url, { capabilities })
  session.url = usedAt.url
  const call = await session.call('greet')
  session.url = begunAt.url
  await session.answer(await call.next(), ann)
  await call.rest()
  session.url = usedAt.url
  return session
}

/** Whether something listens at the address of the instance. */
function accepts({ url }: { readonly url: string }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

interface Way {
  url: string
  /** Each message waits until this is over. */
  hold: Promise<unknown>
  /** Where messages go; until it is said, they wait. */
  lead(to: { readonly url: string }): void
  /** From now on nobody gets through. Connections to where messages went stay, unused. */
  close(): void
  /** Closes those, too. */
  end(): void
}

async function slowWay(): Promise<Way> {
  let target = ''
  let begin: () => void = () => {}
  const hold = new Promise<void>((resolve) => (begin = resolve))
  const lead = (to: { readonly url: string }): void => {
    target = to.url
    begin()
  }
  const agent = new Agent({ keepAlive: true })
  const close = (): void => {
    server.close()
    server.closeAllConnections()
  }
  const way: Way = { url: '', hold, lead, close, end: () => agent.destroy() }
  const server = createHttpServer((req, res) => void way.hold.then(() => pass(req, res)))
  const pass: RequestListener = (req, res) => {
    const onward = httpRequest(target, { agent, method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(res)
    })
    onward.on('error', () => res.destroy())
    req.pipe(onward)
  }
  way.url = (await startHttpHost(server)).url
  closers.push(() => {
    close()
    agent.destroy()
  })
  return way
}

test('a call goes to an instance that was started anew where others were when its own is stopped', async () => {
  const [a, b, c] = await Promise.all([start(), start(), start()])
  await sessionOf(b, a)
  const session = await sessionOf(c, a)
  const call = await session.call('greet')
  const question = await call.next()
  await Promise.all([b.stop(), c.stop()])
  const [newB, newC] = await Promise.all([start(b), start(c)])
  await a.stop()
  session.url = newB.url
  expect((await session.answer(question, ann)).status).toBe(202)
  session.url = newC.url
  const rest = await (await session.listen(call.lastEventId)).rest()
  expect(rest).toMatchObject([{ result: { content: [{ text: 'Hello Ann' }] } }])
})

test('a cancellation that comes to an instance that has just started, and knows nobody, arrives', async () => {
  const [a, b] = await Promise.all([start(), start()])
  const session = await sessionOf(b, a)
  const call = await session.open('tools/call', { name: 'hold', _meta: { progressToken: 1 } })
  await call.next()
  await b.stop()
  session.url = (await start(b)).url
  await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })
  session.url = a.url
  expect(await session.request('tools/call', { name: 'released' })).toMatchObject({
    result: { content: [{ text: '1 cancelled' }] },
  })
})

test('an instance that took a cancellation, and is stopped at once, passes it on before it ends', async () => {
  const way = await slowWay()
  const a = await start(undefined, { advertise: way.url })
  way.lead(a)
  const b = await start()
  const session = await sessionOf(b, a)
  const call = await session.open('tools/call', { name: 'hold', _meta: { progressToken: 1 } })
  await call.next()
  const held = Promise.withResolvers<void>()
  way.hold = held.promise
  session.url = b.url
  await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })
  let hasStopped = false
  const stopped = b.stop().then(() => (hasStopped = true))
  await expect.poll(() => accepts(b)).toBe(false)
  expect(hasStopped).toBe(false)
  held.resolve()
  await stopped
})

test('a call that is cancelled while it goes to another instance is cancelled there', async () => {
  const way = await slowWay()
  const a = await start()
  const b = await start(undefined, { advertise: way.url })
  way.lead(b)
  const session = await sessionOf(a, b)
  session.url = a.url
  const call = await session.call('ask_until_cancelled')
  await call.next()
  let release: (value: unknown) => void = () => {}
  way.hold = new Promise((resolve) => (release = resolve))
  const stopped = a.stop()
  await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })
  release(undefined)
  await stopped
  await expect.poll(() => b.aborted).toBe(1)
})

test('when an instance is killed, perhaps with an answer that it had yet to forward, the others ask again', async () => {
  const a = await start()
  const b = await startProgram()
  closers.push(() => b.kill())
  const session = await sessionOf(b, a)
  const call = await session.call('greet')
  const first = await call.next()
  await b.kill()
  expect(await call.next()).toMatchObject({ method: 'notifications/cancelled', params: { requestId: first.id } })
  const second = await call.next()
  expect(second).toMatchObject({ method: 'elicitation/create', params: first.params })
  expect(second.id).not.toBe(first.id)
  await session.answer(second, ann)
  await session.answer(first, ann)
  expect(await call.rest()).toMatchObject([{ result: { content: [{ text: 'Hello Ann' }] } }])
})

test('what is asked when an instance was just found to be gone is asked again, too: it may have got an answer while it ended', async () => {
  const lost = Promise.withResolvers<void>()
  const debug = (_: object, sentence: string): void => {
    if (sentence === 'An instance is gone.') lost.resolve()
  }
  const a = await start(undefined, { logger: { ...quiet, debug } })
  const b = await startProgram()
  closers.push(() => b.kill())
  const session = await sessionOf(b, a)
  await b.kill()
  await lost.promise
  const call = await session.call('greet')
  const first = await call.next()
  expect(await call.next()).toMatchObject({ method: 'notifications/cancelled', params: { requestId: first.id } })
  await session.answer(await call.next(), ann)
  expect(await call.rest()).toMatchObject([{ result: { content: [{ text: 'Hello Ann' }] } }])
})

test('a client that comes back to an instance that is being stopped, and has just handed over its call, gets the result', async () => {
  const way = await slowWay()
  const a = await start(undefined, { advertise: way.url })
  way.lead(a)
  const session = await sessionOf(await start(), a)
  const hold = await session.open('tools/call', { name: 'hold', _meta: { progressToken: 1 } }) // keeps the listener open
  await hold.next()
  const call = await session.call('greet')
  const question = await call.next()
  way.hold = new Promise((resolve) => closers.push(() => resolve(undefined))) // nobody can tell the first one anything
  const stopped = a.stop()
  await call.rest()
  const back = await session.listen(call.lastEventId)
  expect((await session.answer(question, ann)).status).toBe(202)
  expect(await back.rest()).toMatchObject([{ result: { content: [{ text: 'Hello Ann' }] } }])
  await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })
  await stopped
})

test('a result that comes when an instance has closed its listener goes to another one at once', async () => {
  const way = await slowWay()
  const a = await start(undefined, { advertise: way.url })
  way.lead(a)
  const b = await start()
  const session = await sessionOf(b, a)
  const stopped = a.stop(4000)
  await expect.poll(() => accepts(a)).toBe(false)
  way.close()
  const call = await session.call('hang_up') // on the connection that it has
  await call.rest()
  session.url = b.url
  const back = await session.listen(call.lastEventId)
  expect(await back.rest()).toMatchObject([{ result: { content: [{ text: 'after that' }] } }])
  way.end()
  await stopped
})

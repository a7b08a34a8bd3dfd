/**
 * What callers get while PostgreSQL is away from gateways behind a plain round robin: cut off, or frozen.
 *
 * No caller is served by two gateways at once: a gateway begins a call only while its own lease is valid and the caller is
 * under it. What another gateway remembers, or is told, only says where a call is sent.
 */
import { expect, onTestFinished, test, vi } from 'vitest'
import { longTest } from '../longTest.ts'
import { newDatabase, runSql } from '../postgres/database.ts'
import { TcpProxy } from '../postgres/tcpProxy.ts'
import type { MessageStream } from '../interop/fixtures/messageStream.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { startBalancer } from '../survival/balancer.ts'
import { principal, serversOfBothEras, untilAllEnd } from './fixtures/bothEras.ts'
import {
  type AnyClient,
  call,
  CLIENTS,
  connectClient,
  modernServer,
  startGateway,
  stdioEntry,
} from './fixtures/gateways.ts'
import { heardUntil, listen } from './fixtures/news.ts'

const PATIENCE = { timeout: 40_000 }
const until = untilAllEnd()
const both = serversOfBothEras(until)

/** Gateways behind a balancer, each with a way of its own to the database. */
async function start(servers: object, leaseSeconds: number) {
  const database = await newDatabase()
  const balancer = await startBalancer()
  onTestFinished(() => balancer.close())
  const startOne = async () => {
    const url = new URL(database)
    const proxy = await TcpProxy.start(Number(url.port))
    onTestFinished(() => proxy.close())
    url.port = String(proxy.port)
    return { proxy, ...(await startGateway(servers, { principal }, { gateway: { postgres: url.href, leaseSeconds } })) }
  }
  const gateways = await Promise.all([startOne(), startOne(), startOne()])
  const urls = gateways.map(({ url }) => url)
  balancer.targets = urls
  return { balancer, database, gateways, urls }
}

type Gateways = Awaited<ReturnType<typeof start>>['gateways']

/** A gateway learns of the others when it renews its lease. */
async function renewed(database: string): Promise<void> {
  const ends = async (): Promise<number[]> => {
    const text = 'SELECT extract(epoch FROM until)::float8 AS ends FROM pannier.gateways ORDER BY id'
    return (await runSql<{ ends: number }>(database, text)).map((row) => row.ends)
  }
  const before = await ends()
  const areLater = async (): Promise<boolean> => (await ends()).every((end, turn) => end > (before[turn] ?? 0))
  await vi.waitFor(async () => expect(await areLater()).toBe(true), PATIENCE)
  await ends()
}

const cutAll = (gateways: Gateways): void => gateways.forEach(({ proxy }) => proxy.cut())

/** What a call gives, or the code that it fails with. */
const outcome = (calling: Promise<string>): Promise<unknown> =>
  calling.catch((error: unknown) => (error as { data?: { code?: unknown } }).data?.code ?? error)

/** A call while the database is there. On a busy machine it may answer too late, and the caller is to call again. */
const callPlaced = (client: AnyClient, name: string, args: object = {}): Promise<string> =>
  vi.waitFor(() => call(client, name, args), PATIENCE)

test('while PostgreSQL is away, a caller with any client whom one gateway has is served by way of all of them', async () => {
  const { balancer, database, gateways, urls } = await start((await both).servers, 30)
  const connectAs = (user: string) =>
    Promise.all(CLIENTS.map((kind) => connectClient(kind, balancer.url, { 'x-user': `${user} ${kind}` })))
  const clients = await connectAs('ann')
  const strangers = await connectAs('bob')
  const each = (of: readonly AnyClient[], name: string, args: object = {}): Promise<unknown[]> =>
    Promise.all(of.map((client) => outcome(call(client, name, args))))
  const all = (result: string): string[] => CLIENTS.map(() => result)
  // Only one gateway has ever heard of the callers.
  balancer.targets = urls.slice(0, 1)
  for (const server of ['http', 'stdio'])
    await Promise.all(clients.map((client) => callPlaced(client, `${server}_note`, { text: 'milk' })))
  await renewed(database)
  cutAll(gateways)
  // All at once, because the lease of the one that has the callers is over some time.
  for (const url of urls) {
    balancer.targets = [url]
    const outcomes = ['http', 'stdio'].map(async (server) => {
      expect(await each(clients, `${server}_recall`)).toEqual(all('milk'))
      expect(await each(clients, `${server}_confirm`)).toEqual(all('accept true, accept true'))
    })
    await Promise.all(outcomes)
  }
  for (const url of urls) {
    balancer.targets = [url]
    for (const server of ['http', 'stdio'])
      expect(await each(strangers, `${server}_recall`)).toEqual(all('CALLER_UNPLACED'))
  }
  for (const { proxy } of gateways) proxy.open()
  balancer.targets = urls
  await vi.waitFor(async () => expect(await each(strangers, 'stdio_recall')).toEqual(all('')), PATIENCE)
  for (let time = 0; time < 3; time++) expect(await each(clients, 'stdio_recall')).toEqual(all('milk'))
})

test('a gateway whose lease is over serves nobody, also when it is sent calls of a caller it had', async () => {
  const { balancer, database, gateways, urls } = await start({ stdio: stdioEntry() }, 4)
  const [first, second, third] = gateways
  balancer.targets = [first.url]
  const ann = await connectClient('v1', balancer.url, { 'x-user': 'ann' })
  await callPlaced(ann, 'stdio_note', { text: 'milk' })
  balancer.targets = [second.url]
  expect(await callPlaced(ann, 'stdio_recall')).toBe('milk') // the second one remembers where ann is
  await renewed(database)
  first.proxy.cut()
  // The third takes ann when the lease of the first is over, and has another process for her.
  balancer.targets = [third.url]
  await vi.waitFor(async () => expect(await outcome(call(ann, 'stdio_recall'))).toBe(''), PATIENCE)
  await callPlaced(ann, 'stdio_note', { text: 'bread' })
  second.proxy.cut()
  // The second sends her calls to the first, as it remembers, which refuses them; then it is told of the third.
  for (const url of urls) {
    balancer.targets = [url]
    expect(await outcome(call(ann, 'stdio_recall'))).toBe('bread')
  }
  third.proxy.cut()
  await vi.waitFor(async () => expect(await outcome(call(ann, 'stdio_recall'))).toBe('CALLER_UNPLACED'), PATIENCE)
  for (const url of urls) {
    balancer.targets = [url]
    expect(await outcome(call(ann, 'stdio_recall'))).toBe('CALLER_UNPLACED')
  }
})

longTest(
  'a caller whom a gateway has given up, and another taken, is found there by a gateway that remembers the first',
  async () => {
    const brief = { ...stdioEntry({ state: 'stateful', idleSeconds: 5 }) }
    const { balancer, database, gateways, urls } = await start({ brief }, 20)
    const [first, second, third] = gateways
    balancer.targets = [first.url]
    const ann = await connectClient('v1', balancer.url, { 'x-user': 'ann' })
    await callPlaced(ann, 'brief_note', { text: 'milk' })
    balancer.targets = [second.url]
    expect(await callPlaced(ann, 'brief_recall')).toBe('milk')
    await vi.waitFor(() => expect(first.gateway.backends[0]?.sender.links).toBe(0), PATIENCE) // her process has ended
    await renewed(database)
    balancer.targets = [third.url]
    await callPlaced(ann, 'brief_note', { text: 'bread' })
    cutAll(gateways)
    for (const url of urls) {
      balancer.targets = [url]
      expect(await outcome(call(ann, 'brief_recall'))).toBe('bread')
    }
  },
)

longTest(
  'a gateway that was started anew at the address of the one that a caller was with does not serve the caller',
  async () => {
    const { balancer, database, gateways } = await start({ stdio: stdioEntry() }, 20)
    const [first, second] = gateways
    balancer.targets = [first.url]
    const ann = await connectClient('v1', balancer.url, { 'x-user': 'ann' })
    await callPlaced(ann, 'stdio_note', { text: 'milk' })
    balancer.targets = [second.url]
    expect(await callPlaced(ann, 'stdio_recall')).toBe('milk')
    await renewed(database)
    cutAll(gateways)
    await first.gateway.drain({ deadlineMs: 0 })
    const url = new URL(first.url)
    const unreached = await TcpProxy.start(1)
    onTestFinished(() => unreached.close())
    unreached.cut()
    const postgres = `postgres://u:p@127.0.0.1:${unreached.port}/d`
    await startGateway({ stdio: stdioEntry() }, { principal }, { gateway: { postgres } }, undefined, Number(url.port))
    for (const target of [first.url, second.url]) {
      balancer.targets = [target]
      expect(await outcome(call(ann, 'stdio_recall'))).toBe('CALLER_UNPLACED')
    }
  },
)

/** The longest that a call may take. The database stays frozen until all calls have ended, so that one that waits for it never ends. */
const FEW_SECONDS_MS = 20_000

longTest(
  'while PostgreSQL is frozen for seven seconds no call waits long, and afterwards all callers are served',
  async () => {
    const { servers, ours } = await both
    const { balancer, database, gateways } = await start(servers, 20)
    const clients: [string, AnyClient][] = []
    for (const kind of CLIENTS) {
      for (const name of ['placed', 'new'])
        clients.push([name, await connectClient(kind, balancer.url, { 'x-user': `${name} ${kind}` })])
    }
    const placed = clients.filter(([name]) => name === 'placed').map(([, client]) => client)
    for (const client of placed)
      for (const server of ['http', 'stdio']) await callPlaced(client, `${server}_note`, { text: 'milk' })
    await renewed(database)
    for (const { proxy } of gateways) proxy.freeze()
    const thawed = performance.now() + 7000
    const slow: string[] = []
    const timed = async (what: string, calling: Promise<string>): Promise<unknown> => {
      const began = performance.now()
      const result = await outcome(calling)
      const tookMs = performance.now() - began
      if (tookMs > FEW_SECONDS_MS) slow.push(`${what}: ${Math.round(tookMs)} ms`)
      return result
    }
    await Promise.all(
      clients.map(async ([name, client]) => {
        while (performance.now() < thawed) {
          for (const server of ['http', 'stdio', 'ours']) {
            const confirmed = await timed(`${name} ${server}_confirm`, call(client, `${server}_confirm`))
            const isServed = name === 'placed' || server === 'ours'
            expect(confirmed, `${name} ${server}`).toBe(isServed ? 'accept true, accept true' : 'CALLER_UNPLACED')
          }
          const cancel = new AbortController()
          const began = Promise.withResolvers<void>()
          const options = { signal: cancel.signal, onprogress: () => began.resolve() }
          const waiting = call(client, 'ours_wait', {}, options).catch(() => 'cancelled')
          await began.promise
          cancel.abort()
          expect(await timed(`${name} cancelled`, waiting)).toBe('cancelled')
        }
      }),
    )
    for (const { proxy } of gateways) proxy.thaw()
    expect(slow).toEqual([])
    const states = (state: string): number => ours.states.filter((each) => each === state).length
    await vi.waitFor(() => expect(states('cancelled')).toBe(states('waiting')), PATIENCE)
    for (const [name, client] of clients) {
      const note = name === 'placed' ? 'milk' : ''
      await vi.waitFor(async () => expect(await outcome(call(client, 'stdio_recall'))).toBe(note), PATIENCE)
      expect(await call(client, 'http_recall')).toBe(note)
    }
  },
)

test('while PostgreSQL is frozen clients of both eras connect, read lists, and hear that a list has changed', async () => {
  const { url: behind, server } = await modernServer()
  const { gateways, urls } = await start({ ours: { url: behind } }, 20)
  const streams: MessageStream[] = []
  for (const [turn, url] of urls.entries()) {
    streams.push(await listen(url, { toolsListChanged: true }))
    const session = await RawSession.begin(url)
    session.url = urls.at(turn - 1) ?? url
    streams.push(await session.listen())
  }
  for (const { proxy } of gateways) proxy.freeze()
  const began = performance.now()
  server.tool('late', { description: 'Was added.' }, () => 'late')
  await Promise.all(streams.map((stream) => heardUntil(stream, 'tools')))
  for (const kind of CLIENTS) {
    for (const url of urls) {
      const { tools } = await (await connectClient(kind, url)).listTools()
      expect(tools.map(({ name }) => name)).toContain('ours_late')
    }
  }
  expect(performance.now() - began).toBeLessThan(FEW_SECONDS_MS)
})

longTest('while PostgreSQL is frozen any client cancels a call by way of another gateway', async () => {
  const { servers, ours } = await both
  const { balancer, gateways, urls } = await start(servers, 20)
  const clients = await Promise.all(CLIENTS.map((kind) => connectClient(kind, balancer.url, { 'x-user': kind })))
  for (const client of clients)
    for (const [turn] of urls.entries()) expect(await call(client, 'ours_add', { a: turn, b: 1 })).toBe(`${turn + 1}`)
  for (const { proxy } of gateways) proxy.freeze()
  const all = (state: string): string[] => clients.map(() => state)
  for (const url of urls) {
    ours.states.length = 0
    balancer.targets = [url]
    const cancel = new AbortController()
    const waiting = clients.map((client) => call(client, 'ours_wait', {}, { signal: cancel.signal }))
    await vi.waitFor(() => expect(ours.states).toEqual(all('waiting')), PATIENCE)
    balancer.targets = urls.filter((other) => other !== url)
    cancel.abort()
    for (const each of waiting) await expect(each).rejects.toThrow()
    const cancelled = [...all('waiting'), ...all('cancelled')]
    await vi.waitFor(() => expect(ours.states).toEqual(cancelled), { timeout: FEW_SECONDS_MS })
  }
})

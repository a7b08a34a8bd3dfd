/** What gateways have in common by way of PostgreSQL, what works while that is away, and what gateways say that have none. */
import { postgres } from 'pannier/postgres'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { testIsOver } from '../fixtures/until.ts'
import { call as callByHand } from '../fixtures/modernClient.ts'
import { newDatabase, runSql } from '../postgres/database.ts'
import { TcpProxy } from '../postgres/tcpProxy.ts'
import { balancedGateways, principal, serversOfBothEras, untilAllEnd } from './fixtures/bothEras.ts'
import { call, CLIENTS, connectClient, type modernServer, startGateway } from './fixtures/gateways.ts'

const PATIENCE = { timeout: 40_000 }
const until = untilAllEnd()
let ours: Awaited<ReturnType<typeof modernServer>>
let servers: object = {}

beforeAll(async () => {
  ;({ ours, servers } = await serversOfBothEras(until))
})

/** The code that a call fails with. */
const codeOf = (calling: Promise<unknown>): Promise<unknown> =>
  calling.then(
    () => 'none',
    (error: unknown) => (error as { data?: { code?: unknown } }).data?.code,
  )

test('a caller with any client is served in one place behind a balancer', async () => {
  const connection = postgres({ url: await newDatabase() })
  onTestFinished(() => connection.close())
  const { url, gateways } = await balancedGateways(servers, testIsOver, { principal, postgres: connection })
  const callers = CLIENTS.flatMap((kind) => ['ann', 'bob'].map((user) => ({ kind, name: `${user} ${kind}` })))
  const served = async ({ kind, name }: (typeof callers)[number]): Promise<void> => {
    const client = await connectClient(kind, url, { 'x-user': name }, { elicitation: {} })
    for (const server of ['http', 'stdio']) {
      await call(client, `${server}_note`, { text: name })
      for (let time = 0; time < 3; time++) expect(await call(client, `${server}_recall`)).toBe(name)
      expect(await call(client, `${server}_confirm`)).toBe('accept true, accept true')
    }
  }
  await Promise.all(callers.map(served))
  for (const { gateway } of gateways) await gateway.drain({ deadlineMs: 0 })
})

test('the database has no name of a caller, no token, and nothing of what a call or its answers say', async () => {
  const address = await newDatabase()
  const top = { gateway: { postgres: address, limits: { requestsPerMinute: 1000 } } }
  const { url } = await balancedGateways(servers, testIsOver, { principal }, top)
  const secrets = ['annabelle-smith', 'the-token-of-ann', 'buy-oat-milk']
  for (const kind of CLIENTS) {
    const headers = { 'x-user': 'annabelle-smith', authorization: 'Bearer the-token-of-ann' }
    const client = await connectClient(kind, url, headers)
    for (const server of ['http', 'stdio']) {
      await call(client, `${server}_note`, { text: 'buy-oat-milk' })
      expect(await call(client, `${server}_recall`)).toContain('buy-oat-milk')
      expect(await call(client, `${server}_confirm`)).toBe('accept true, accept true')
    }
    const cancel = new AbortController()
    ours.states.length = 0
    const waiting = call(client, 'ours_wait', {}, { signal: cancel.signal }).catch(() => {})
    await vi.waitFor(() => expect(ours.states).toEqual(['waiting']), PATIENCE)
    cancel.abort()
    await waiting
  }
  const tables = await runSql<{ name: string }>(
    address,
    "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
  )
  const rows = await Promise.all(tables.map(async ({ name }) => [name, await runSql(address, `SELECT * FROM ${name}`)]))
  const text = JSON.stringify(rows)
  expect(text).toContain('"session"') // it is not empty
  for (const secret of [...secrets, 'Really?', 'Sure?', 'accept'])
    expect(text.includes(secret) ? rows : [], secret).toEqual([])
})

test('PostgreSQL is away for a while', async () => {
  const url = new URL(await newDatabase())
  const proxy = await TcpProxy.start(Number(url.port))
  onTestFinished(() => proxy.close())
  url.port = String(proxy.port)
  const gateway = await startGateway(servers, { principal }, { gateway: { postgres: url.href, leaseSeconds: 4 } })
  const ann = await connectClient('v1', gateway.url, { 'x-user': 'ann' })
  const bob = await connectClient('v1', gateway.url, { 'x-user': 'bob' })
  for (const server of ['http', 'stdio']) await call(ann, `${server}_note`, { text: 'milk' })
  proxy.cut()
  expect(await codeOf(call(bob, 'stdio_recall'))).toBe('CALLER_UNPLACED')
  expect(await call(ann, 'stdio_recall')).toBe('milk')
  await vi.waitFor(async () => expect(await codeOf(call(ann, 'stdio_recall'))).toBe('CALLER_UNPLACED'), PATIENCE)
  const warnings = (): string => JSON.stringify(gateway.gateway.report().health['warnings'])
  expect(warnings()).toContain('PostgreSQL cannot be used.')
  await expect(call(ann, 'http_recall')).rejects.toThrow(/PostgreSQL.*cannot be used now\. The call was not begun/)
  expect(await call(ann, 'ours_add', { a: 1, b: 2 })).toBe('3')
  proxy.open()
  await vi.waitFor(async () => expect(await codeOf(call(bob, 'stdio_recall'))).toBe('none'), PATIENCE)
  expect(await call(ann, 'http_recall')).toBe('milk')
  expect(await call(ann, 'stdio_recall')).toBe('milk')
  expect(warnings()).not.toContain('PostgreSQL')
})

test('clients of the session era are asked while PostgreSQL is away', async () => {
  const isAsked = async (trouble: 'cut' | 'freeze'): Promise<void> => {
    const url = new URL(await newDatabase())
    const proxy = await TcpProxy.start(Number(url.port))
    onTestFinished(() => proxy.close())
    url.port = String(proxy.port)
    const gateway = await startGateway(servers, {}, { gateway: { postgres: url.href } })
    const client = await connectClient('v1', gateway.url)
    expect(await call(client, 'ours_confirm')).toBe('accept true, accept true')
    proxy[trouble]()
    const began = performance.now()
    for (let time = 0; time < 3; time++) expect(await call(client, 'ours_confirm')).toBe('accept true, accept true')
    expect(performance.now() - began, trouble).toBeLessThan(8000)
  }
  await Promise.all([isAsked('cut'), isAsked('freeze')])
})

test('requests are counted, and calls cancelled, over all gateways', async () => {
  const settings = { gateway: { postgres: await newDatabase(), limits: { requestsPerMinute: 8 } } }
  const { url: balanced, gateways } = await balancedGateways(servers, testIsOver, { principal }, settings)
  const statuses: number[] = []
  for (let time = 0; time < 6; time++)
    for (const { url } of gateways)
      statuses.push((await callByHand(url, 'ours_add', { a: 1, b: 2 }, { headers: { 'x-user': 'ann' } })).status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(8)
  const bob = await connectClient('v1', balanced, { 'x-user': 'bob' })
  ours.states.length = 0
  const cancel = new AbortController()
  const waiting = call(bob, 'ours_wait', {}, { signal: cancel.signal })
  await vi.waitFor(() => expect(ours.states).toEqual(['waiting']), PATIENCE)
  cancel.abort()
  await expect(waiting).rejects.toThrow()
  await vi.waitFor(() => expect(ours.states).toEqual(['waiting', 'cancelled']), PATIENCE)
})

test('gateways without PostgreSQL that meet log once what does not work; with it they log nothing of the kind', async () => {
  const warnings: string[] = []
  const logger = { debug() {}, info() {}, error() {}, warn: (_: object, text: string) => void warnings.push(text) }
  const lost = (): string[] => warnings.filter((text) => text.includes('PostgreSQL'))
  const alone = await startGateway(servers, { logger })
  await alone.gateway.judged()
  expect(lost()).toEqual([])
  await alone.gateway.meet([new URL((await startGateway(servers)).url).origin])
  await vi.waitFor(() => expect(lost()).toHaveLength(1), PATIENCE)
  expect(lost()[0]).toMatch(/^Several gateways serve "http", "stdio", .* is lost with the gateway .*--postgres URL\.$/)
})

test.each(['mysql://u:secret@h/d', 'secret'])(
  'an address that is none of a database is refused unquoted: %s',
  async (url) => {
    const starting = startGateway(servers, {}, { gateway: { postgres: url } })
    await expect(starting).rejects.toThrow(/gateway\.postgres must be an address such as postgres:\/\/USER/)
    await expect(starting).rejects.not.toThrow(/secret/)
  },
)

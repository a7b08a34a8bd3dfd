/** A gateway that is being stopped: new calls, calls that have begun, and its end. */
import { connect } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { accept, call as callByHand, type Wire } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { newDatabase, runSql } from '../postgres/database.ts'
import { type GatewayProcess, startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { call, CLIENTS, connectClient, modernServer, sessionServer, stdioEntry } from './fixtures/gateways.ts'
import { startMember } from './fixtures/member.ts'
import { answered, sure, textOf } from './fixtures/parkedRounds.ts'
import { byHand, FRESH } from './fixtures/workers.ts'

const PATIENCE = { timeout: 30_000 }
/** A drain that does not end before the calls of a test do, however busy the machine is. */
const LONG_MS = 120_000
const SETTINGS = { admin: { port: 0 } }
const ENV = { PANNIER_LOG_LEVEL: 'info' }
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}

/** Tells a gateway to stop. Gives its exit code, which is there when it has ended, once it stops. */
async function stop(gateway: GatewayProcess): Promise<{ readonly ended: Promise<number | null> }> {
  const ended = gateway.end('SIGTERM')
  await vi.waitFor(() => expect(gateway.shown()).toContain('"Draining."'), PATIENCE)
  return { ended }
}

/** Answers a call that waits. */
async function finish(url: string, asked: Wire): Promise<string> {
  const again = await byHand(url, 'stdio_confirm', {}, sure(asked))
  return textOf(await byHand(url, 'stdio_confirm', {}, sure(again)))
}

test.each([[], ['--workers', '2']])(
  'a gateway that is being stopped is not ready, and refuses new calls before anything has begun %s',
  async (...args) => {
    const { url: ours, states } = await modernServer()
    const servers = { stdio: stdioEntry(), ours: { url: ours } }
    const gateway = await startGatewayProcess(servers, { args, settings: SETTINGS, env: ENV })
    const asked = await byHand(gateway.url, 'stdio_confirm')
    expect((await fetch(`${gateway.admin}health`)).status).toBe(200)
    const probe = new URL('/health', gateway.url)
    expect((await fetch(probe, { headers: FRESH })).status).toBe(200)
    const { ended } = await stop(gateway)
    await vi.waitFor(async () => expect((await fetch(`${gateway.admin}health`)).status).toBe(503), PATIENCE)
    expect(await (await fetch(probe, { headers: FRESH })).json()).toEqual({ live: true, ready: false })
    expect((await fetch(new URL('/health/live', gateway.url), { headers: FRESH })).status).toBe(200)
    const refusals = [
      await fetch(gateway.url, {
        method: 'POST',
        headers: { ...FRESH, ...JSON_TYPES },
        body: JSON.stringify(INITIALIZE),
      }),
      await fetch(`${gateway.url}/ours`, {
        method: 'POST',
        headers: { ...FRESH, ...JSON_TYPES },
        body: JSON.stringify([{ ...INITIALIZE, id: 1 }]),
      }),
    ]
    for (const refusal of refusals) {
      expect(refusal.status).toBe(503)
      expect(refusal.headers.get('retry-after')).toBe('1')
      expect(refusal.headers.get('connection')).toBe('close')
      expect(await refusal.text()).toContain('was not begun')
    }
    const { status } = await callByHand(gateway.url, 'ours_wait', {}, { headers: FRESH })
    expect(status).toBe(503)
    expect(states).toEqual([])
    expect(await finish(gateway.url, asked)).toBe('accept true, accept true')
    expect(await ended).toBe(0)
  },
)

const JSON_TYPES = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

test('a new call of any client that comes to a gateway which is being stopped is served by one that stays', async () => {
  const { url: ours } = await modernServer()
  const servers = {
    stdio: stdioEntry(),
    http: { url: (await sessionServer()).url, pannier: { state: 'stateful' } },
    ours: { url: ours },
  }
  const stays = await startMember(servers)
  const leaves = await startMember(servers, { peers: [stays.url] })
  // A call in place keeps it there, however callers are placed.
  const session = await RawSession.begin(leaves.url, { capabilities: { elicitation: {} }, headers: FRESH })
  const stream = await session.call('stdio_confirm')
  const asked = await stream.next()
  const connectAll = () => Promise.all(CLIENTS.map((kind) => connectClient(kind, leaves.url)))
  const before = await connectAll()
  for (const client of before) expect(await call(client, 'http_add', { a: 1, b: 2 })).toBe('3')
  const drained = leaves.gateway.drain({ deadlineMs: LONG_MS })
  const served = answeredBy(leaves)
  for (const client of [...before, ...(await connectAll())])
    for (const server of Object.keys(servers)) {
      expect(await call(client, `${server}_add`, { a: 1, b: 2 })).toBe('3')
      expect(await call(client, `${server}_confirm`)).toBe('accept true, accept true')
    }
  expect(answeredBy(leaves)).toBe(served)
  session.url = stays.url
  await session.answer(asked, accept({ sure: true }))
  await session.answer(await stream.next(), accept({ sure: true }))
  expect(textOf((await stream.rest()).at(-1)?.result)).toBe('accept true, accept true')
  await drained
})

test('a gateway that is being stopped finds one that it never met in the database they share', async () => {
  const servers = { stdio: stdioEntry() }
  const database = await newDatabase()
  const settings = { admin: false, postgres: database }
  const leaves = await startGatewayProcess(servers, { settings, env: ENV })
  const asked = await byHand(leaves.url, 'stdio_confirm')
  const stays = await startMember(servers, { settings })
  const entered = (): Promise<unknown[]> => runSql(database, 'SELECT FROM pannier.gateways')
  await vi.waitFor(async () => expect(await entered()).toHaveLength(2), PATIENCE)
  const { ended } = await stop(leaves)
  const session = await RawSession.begin(leaves.url, { headers: FRESH })
  session.url = stays.url
  const { result } = await session.request('tools/call', { name: 'stdio_add', arguments: { a: 1, b: 2 } })
  expect(textOf(result)).toBe('3')
  expect(await finish(leaves.url, asked)).toBe('accept true, accept true')
  expect(await ended).toBe(0)
})

/** How many calls of one round it says that it has answered. Later rounds of others go by any gateway. */
function answeredBy(gateway: { shown(): string }): number {
  return gateway.shown().split('"tool":"add"').length - 1
}

test('a call that had begun before its gateway was stopped may still ask, and is answered', async () => {
  const mayAsk = Promise.withResolvers<void>()
  const begun: string[] = []
  const lateTools = (): McpServer => {
    const server = new McpServer({ name: 'late', version: '1.0.0' })
    server.registerTool('ask', { description: 'Asks later.' }, async () => {
      begun.push('begun')
      await mayAsk.promise
      const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } }
      const { content } = await server.server.elicitInput({ message: 'Who?', requestedSchema })
      return { content: [{ type: 'text', text: String(content?.['name']) }] }
    })
    return server
  }
  const { url: late } = await sessionServer(undefined, lateTools)
  const gateway = await startGatewayProcess({ late: { url: late } }, { env: ENV })
  const asking = byHand(gateway.url, 'late_ask')
  await vi.waitFor(() => expect(begun).toEqual(['begun']), PATIENCE)
  const { ended } = await stop(gateway)
  mayAsk.resolve()
  expect(textOf(await byHand(gateway.url, 'late_ask', {}, answered(await asking, 'Ann')))).toBe('Ann')
  expect(await ended).toBe(0)
})

test('a stream for notifications that is opened while the gateway is being stopped ends at once', async () => {
  const gateway = await startGatewayProcess({ stdio: stdioEntry() }, { env: ENV })
  const session = await RawSession.begin(gateway.url, { headers: FRESH })
  const asked = await byHand(gateway.url, 'stdio_confirm')
  const { ended } = await stop(gateway)
  const stream = await session.listen()
  expect(await stream.rest()).toEqual([])
  expect(await finish(gateway.url, asked)).toBe('accept true, accept true')
  expect(await ended).toBe(0)
})

test('the process of a gateway ends when it has drained, also where a client does not read its answer', async () => {
  const gateway = await startGatewayProcess({ stdio: stdioEntry() }, { env: ENV })
  const session = await RawSession.begin(gateway.url, { headers: FRESH })
  const text = 'x'.repeat(3_500_000)
  for (let time = 0; time < 3; time++) await (await session.call('stdio_note', { text })).rest()
  const message = { jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'stdio_recall', arguments: {} } }
  await unread(gateway.url, { ...session.headers, ...JSON_TYPES }, JSON.stringify(message))
  const ended = gateway.end('SIGTERM')
  await vi.waitFor(() => expect(gateway.shown()).toContain('"Drained."'), PATIENCE)
  const since = performance.now()
  expect(await ended).toBe(0)
  expect(performance.now() - since).toBeLessThan(20_000) // of a minute and more that the client has to read
})

/** Posts, and reads nothing but the first bytes of the answer. Resolves when they are there. */
async function unread(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<void> {
  const { hostname, port, pathname, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  const lines = Object.entries({ host, ...headers, 'content-length': String(body.length) })
  socket.write([`POST ${pathname} HTTP/1.1`, ...lines.map((line) => line.join(': ')), '', body].join('\r\n'))
  await new Promise<void>((resolve) => socket.once('readable', resolve))
}

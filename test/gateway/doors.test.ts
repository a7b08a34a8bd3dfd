/** Who is let in: addresses beyond this machine, foreign hosts and pages, sessions of others, states of other keys. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import { ephemeralKeyring, newKey } from 'pannier/state'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { testIsOver } from '../fixtures/until.ts'
import { pannier, startPannier } from '../cli/fixtures/program.ts'
import { accept, call as callByHand, envelope, raw, VERSION } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { balancedGateways, principal, serversOfBothEras, untilAllEnd } from './fixtures/bothEras.ts'
import { answered } from './fixtures/parkedRounds.ts'
import { startGateway } from './fixtures/gateways.ts'

const PATIENCE = { timeout: 30_000 }
const until = untilAllEnd()
let servers: object = {}
let ours: Awaited<ReturnType<typeof serversOfBothEras>>['ours']

beforeAll(async () => {
  ;({ ours, servers } = await serversOfBothEras(until))
})

test('beyond this machine a gateway serves only callers that it knows, unless it is told otherwise', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-doors-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'mcp.json')
  writeFileSync(file, JSON.stringify({ mcpServers: { ours: { url: ours.url } }, gateway: { admin: false } }))
  const open = ['gateway', file, '--port', '0', '--host', '0.0.0.0']
  for (const workers of [[], ['--workers', '2']]) {
    const { status, stderr } = await pannier([...open, ...workers])
    expect(status, workers.join(' ')).toBe(2)
    expect(stderr).toContain(
      'Say who may, with "principal" under "gateway" in the file; or serve everyone with "insecure"',
    )
    expect(stderr).not.toContain('Serving')
  }
  const { child } = startPannier([...open, '--insecure'], { input: null })
  onTestFinished(() => void child.kill('SIGKILL'))
  let shown = ''
  child.stderr?.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  await vi.waitFor(() => expect(shown).toMatch(/Serving http/), PATIENCE)
})

/** A call of either era, with headers as they are. */
function request(era: 'stateless' | 'session', headers: Record<string, string>): [Record<string, string>, string] {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: envelope() } }
  const begin = {
    ...call,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  }
  const media = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const modern = { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/list' }
  return era === 'session'
    ? [{ ...media, ...headers }, JSON.stringify(begin)]
    : [{ ...media, ...modern, ...headers }, JSON.stringify(call)]
}

test('at every address, in both eras, pages and names of others are refused, and those of the file are not', async () => {
  const views = { some: { tools: ['ours_*'] } }
  const allowed = { allowedHosts: ['mcp.example.com'], allowedOrigins: ['https://app.example.com'] }
  const local = await startGateway(servers, {}, { gateway: { views } })
  const named = await startGateway(servers, {}, { gateway: { views, ...allowed } })
  const cases: [typeof local, Record<string, string>, number][] = [
    [local, {}, 200],
    [local, { host: 'rebound.example' }, 403],
    [local, { origin: 'https://evil.example' }, 403],
    [named, { host: 'mcp.example.com' }, 200],
    [named, { host: 'mcp.example.com', origin: 'https://app.example.com' }, 200],
    [named, { host: 'mcp.example.com', origin: 'https://evil.example' }, 403],
    [named, { host: 'rebound.example' }, 403],
  ]
  for (const [{ url }, headers, status] of cases)
    for (const path of ['/mcp', '/mcp/ours', '/mcp/stdio', '/views/some'])
      for (const era of ['stateless', 'session'] as const) {
        const answer = await raw(new URL(path, url).href, ...request(era, headers))
        expect([path, era, headers, answer.status]).toEqual([path, era, headers, status])
      }
})

test('requests of a caller count at all addresses together, in both eras, and no others do', async () => {
  const gateway = { views: { some: { tools: ['ours_*'] } }, limits: { requestsPerMinute: 6 } }
  const { url } = await startGateway(servers, { principal }, { gateway })
  const send = (path: string, era: 'stateless' | 'session', user: string): Promise<Response> => {
    const [headers, body] = request(era, { 'x-user': user })
    return fetch(new URL(path, url), { method: 'POST', headers, body })
  }
  const paths = ['/mcp', '/mcp/ours', '/views/some']
  for (const [era, status] of [
    ['stateless', 200],
    ['session', 200],
    ['stateless', 429],
    ['session', 429],
  ] as const)
    for (const path of paths) {
      const answer = await send(path, era, 'ann')
      expect([path, era, answer.status]).toEqual([path, era, status])
      expect(Number(answer.headers.get('retry-after')) > 0).toBe(status === 429)
    }
  for (const path of paths) expect((await send(path, 'stateless', 'bob')).status).toBe(200)
})

test.each(['stateless', 'session'] as const)(
  'behind a proxy, requests of the %s era count by the address that the proxy writes, and what is none counts together',
  async (era) => {
    const limits = { requestsPerMinute: 2, clientAddressHeader: 'X-Real-IP' }
    const { url } = await startGateway({ ours: { url: ours.url } }, {}, { gateway: { limits } })
    const statusOf = async (path: string, address: string): Promise<number> => {
      const [headers, body] = request(era, { 'x-real-ip': address })
      return (await fetch(new URL(path, url), { method: 'POST', headers, body })).status
    }
    for (const addresses of [
      ['192.0.2.1', '192.0.2.1', '203.0.113.9, 192.0.2.1'],
      ['one', 'two', 'three'],
    ]) {
      const statuses: number[] = []
      for (const [turn, address] of addresses.entries())
        statuses.push(await statusOf(turn === 0 ? '/mcp' : '/mcp/ours', address))
      expect(statuses).toEqual([200, 200, 429])
    }
    expect(await statusOf('/mcp', '192.0.2.2')).toBe(200)
  },
)

test('at either gateway a session counts for its caller alone, with its streams, its questions and its end', async () => {
  const { gateways } = await balancedGateways(servers, testIsOver, { principal })
  const [here, there] = gateways.map(({ url }) => url)
  if (here === undefined || there === undefined) return expect.fail()
  const session = await RawSession.begin(here, { capabilities: { elicitation: {} }, headers: { 'x-user': 'ann' } })
  for (const server of ['ours', 'http', 'stdio']) {
    const stream = await session.call(`${server}_confirm`)
    let asked = await stream.next()
    while (asked.method !== 'elicitation/create') asked = await stream.next()
    for (const url of [here, there])
      for (const user of [{ 'x-user': 'bob' }, {}]) {
        const thief = new RawSession(url, session.id, session.initialized, session.version, user)
        expect((await thief.answer(asked, accept({ sure: false }))).status).toBe(404)
        expect((await thief.send({ jsonrpc: '2.0', id: 9, method: 'tools/list' })).status).toBe(404)
        expect((await thief.end()).status).toBe(404)
        const resumed = await fetch(url, {
          headers: { ...thief.headers, accept: 'text/event-stream', 'last-event-id': stream.lastEventId ?? '' },
        })
        expect(resumed.status).toBe(404)
      }
    session.url = there
    await session.answer(asked, accept({ sure: true }))
    asked = await stream.next()
    await session.answer(asked, accept({ sure: true }))
    expect((await stream.rest()).at(-1)?.result).toMatchObject({ content: [{ text: 'accept true, accept true' }] })
  }
})

test('with other keys a client hears that its state is not valid, and nothing is begun', async () => {
  const [first, second] = [await startGateway(servers), await startGateway(servers, { keys: ephemeralKeyring() })]
  const { message: asked } = await callByHand(first.url, 'stdio_confirm')
  const { requestState, inputResponses } = answered(asked.result, 'Ann')
  const { message } = await callByHand(second.url, 'stdio_confirm', {}, { params: { requestState, inputResponses } })
  expect(message.error.code).toBe(-32602)
  expect(message.error.data).toBeUndefined()
  expect(JSON.stringify(message)).not.toMatch(/127\.0\.0\.1|stdio/)
  const session = await RawSession.begin(first.url)
  session.url = second.url
  expect((await session.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(404)
})

test.each([
  ['PANNIER_PEERS', { PANNIER_PEERS: 'http://127.0.0.1:9' }, 1],
  ['PANNIER_ADVERTISE', { PANNIER_ADVERTISE: 'http://127.0.0.1:9' }, 1],
  ['PANNIER_PEERS', { PANNIER_PEERS: 'http://127.0.0.1:9', PANNIER_KEYS: newKey() }, 0],
  ['nobody', {}, 0],
])('a gateway that is told of others by %s says at its start that it has no keys: %o', async (how, env, times) => {
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const [name, value] of Object.entries({ PANNIER_KEYS: undefined, ...env })) vi.stubEnv(name, value)
  const warned: string[] = []
  const logger = { debug() {}, info() {}, error() {}, warn: (_: object, text: string) => void warned.push(text) }
  const gateway = createGateway({ ...(await gatewayConfigOf({ mcpServers: {} })), logger })
  onTestFinished(() => gateway.drain({ deadlineMs: 0 }))
  await gateway.listen()
  expect(warned.filter((text) => text.startsWith(`This gateway is to work with others (${how})`))).toHaveLength(times)
})

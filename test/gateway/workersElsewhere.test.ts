/** Gateways of several processes each, which reach each other as machines do, or look up in PostgreSQL who serves which caller. */
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { testIsOver } from '../fixtures/until.ts'
import { call as callByHand, type Wire } from '../fixtures/modernClient.ts'
import { newDatabase } from '../postgres/database.ts'
import { startBalancer } from '../survival/balancer.ts'
import { serversOfBothEras } from './fixtures/bothEras.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { call, CLIENTS, connectClient, sessionServer, stdioEntry } from './fixtures/gateways.ts'

const ROUNDS = 6

test('with workers and PostgreSQL, a caller with either client is served in one place, and its HTTP session outlives the gateway', async () => {
  const http = await sessionServer()
  const servers = { http: { url: http.url, pannier: { state: 'stateful' } }, stdio: stdioEntry() }
  const args = ['--workers', '2', '--postgres', await newDatabase()]
  const [first, second] = await Promise.all([1, 2].map(() => startGatewayProcess(servers, { args })))
  if (first === undefined || second === undefined) return expect.fail()
  const balancer = await startBalancer()
  onTestFinished(() => balancer.close())
  balancer.targets = [first.url, second.url]
  const kinds = ['v1', 'v2 in a session'] as const
  const [ann, bob] = await Promise.all(kinds.map((kind) => connectClient(kind, balancer.url)))
  if (ann === undefined || bob === undefined) return expect.fail()
  for (const server of ['http', 'stdio']) {
    await call(ann, `${server}_note`, { text: 'milk' })
    await call(bob, `${server}_note`, { text: 'bread' })
  }
  for (let round = 0; round < ROUNDS; round++)
    for (const server of ['http', 'stdio']) {
      expect(await call(ann, `${server}_recall`)).toBe('milk')
      expect(await call(bob, `${server}_recall`)).toBe('bread')
    }
  balancer.targets = [second.url]
  await first.end('SIGKILL')
  for (let round = 0; round < ROUNDS; round++) {
    expect(await call(ann, 'http_recall')).toBe('milk')
    expect(await call(bob, 'http_recall')).toBe('bread')
  }
  for (const client of [ann, bob]) expect(await call(client, 'http_confirm')).toBe('accept true, accept true')
}, 90_000)

/** The first of two ports in a row that nobody listens at. The system gives none of these to others by itself. */
async function twoFreePorts(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    if ((await isFree(port)) && (await isFree(port + 1))) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer().once('error', () => resolve(false))
    probe.listen(port, '0.0.0.0', () => probe.close(() => resolve(true)))
  })
}

test('workers of two machines reach each other where PANNIER_ADVERTISE says, and only gateways are served there', async () => {
  const { servers } = await serversOfBothEras(testIsOver)
  const ports = [await twoFreePorts(), await twoFreePorts()]
  const start = (machine: number, peers: string) => {
    const advertised = `http://127.0.0.${machine + 2}:${ports[machine]}`
    const env = { PANNIER_ADVERTISE: advertised, PANNIER_PEERS: peers }
    return startGatewayProcess(servers, { args: ['--workers', '2'], env }).then((gateway) => ({ gateway, advertised }))
  }
  const first = await start(0, '')
  const second = await start(1, new URL(first.gateway.url).origin)
  const balancer = await startBalancer()
  onTestFinished(() => balancer.close())
  balancer.targets = [first.gateway.url, second.gateway.url]
  const at = async (tool: string, args: Record<string, unknown> = {}): Promise<Wire> =>
    (await callByHand(balancer.url, tool, args, { headers: { connection: 'close' } })).message.result
  for (const kind of CLIENTS) {
    const client = await connectClient(kind, balancer.url, { connection: 'close' })
    for (const server of ['ours', 'http', 'stdio'])
      expect(await call(client, `${server}_confirm`)).toBe('accept true, accept true')
  }
  // All callers without a name are one caller, who is in one of the four workers.
  for (const text of ['milk', 'bread']) await at('stdio_note', { text })
  for (let time = 0; time < 8; time++) expect((await at('stdio_recall')).content[0].text).toBe('milk bread')
  // The second worker of a machine has the next port.
  for (const port of [ports[0]!, ports[0]! + 1]) {
    const { hostname } = new URL(first.advertised)
    const { status } = await callByHand(`http://${hostname}:${port}/mcp`, 'ours_add', { a: 1, b: 2 })
    expect(status).toBe(404)
  }
}, 90_000)

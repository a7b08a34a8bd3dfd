/** `pannier gateway FILE --workers 2`: two processes at one port, and each request comes by a new connection to the next one. */
import { beforeAll, describe, expect, test } from 'vitest'
import { call as callByHand, type Wire } from '../fixtures/modernClient.ts'
import { expectProgressAndCancellation, serversOfBothEras, untilAllEnd } from './fixtures/bothEras.ts'
import { type GatewayProcess, startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { call, CLIENTS, connectClient, type modernServer } from './fixtures/gateways.ts'
import { FRESH } from './fixtures/workers.ts'

const SESSION = 'modelcontextprotocol.io/state/session'

const until = untilAllEnd()
let gateway: GatewayProcess
let ours: Awaited<ReturnType<typeof modernServer>>

beforeAll(async () => {
  const behind = await serversOfBothEras(until)
  ours = behind.ours
  const settings = { admin: { port: 0 }, workers: 2 }
  // Workers reach each other where other machines would.
  const env = { PANNIER_KEYS: undefined, PANNIER_ADVERTISE: 'http://127.0.0.2' }
  gateway = await startGatewayProcess(behind.servers, { settings, env, until })
}, 60_000)

const textOf = ({ content }: Wire): string => content[0].text

async function byHand(tool: string, args: Record<string, unknown> = {}, sent: object = {}): Promise<Wire> {
  const { message } = await callByHand(gateway.url, tool, args, { headers: FRESH, ...sent })
  return message.result
}

describe.each(CLIENTS)('the client %s', (kind) => {
  test.each(['ours', 'http', 'stdio'])('is asked by the server %s, twice in one call', async (server) => {
    const client = await connectClient(kind, gateway.url, FRESH)
    for (let time = 0; time < 3; time++)
      expect(await call(client, `${server}_confirm`)).toBe('accept true, accept true')
  })

  test.each(['http', 'stdio'])('tells the server %s its folders, and samples for it', async (server) => {
    const client = await connectClient(kind, gateway.url, FRESH)
    expect(await call(client, `${server}_folders`)).toBe('file:///here')
    expect(await call(client, `${server}_think`)).toContain('Thought.')
  })

  test('gets progress, and ends the work behind when it cancels', async () => {
    const client = await connectClient(kind, gateway.url, FRESH)
    await expectProgressAndCancellation(client, ours.states)
  })
})

test.each(['v1', 'v2 in a session'] as const)('a session of the client %s keeps what it noted', async (kind) => {
  for (const server of ['http', 'stdio']) {
    const [ann, bob] = await Promise.all([1, 2].map(() => connectClient(kind, gateway.url, FRESH)))
    await call(ann!, `${server}_note`, { text: 'milk' })
    await call(bob!, `${server}_note`, { text: 'bread' })
    for (let time = 0; time < 3; time++) {
      expect(await call(ann!, `${server}_recall`)).toBe('milk')
      expect(await call(bob!, `${server}_recall`)).toBe('bread')
    }
  }
})

test.each(['http', 'stdio'])('callers without a name are one caller of the server %s', async (server) => {
  const before = textOf(await byHand(`${server}_recall`))
    .split(' ')
    .filter(Boolean)
  for (const text of ['milk', 'bread', 'salt']) await byHand(`${server}_note`, { text })
  for (let time = 0; time < 4; time++)
    expect(textOf(await byHand(`${server}_recall`)).split(' ')).toEqual([...before, 'milk', 'bread', 'salt'])
})

test.each(['http', 'stdio'])('a client that keeps state is one caller of the server %s', async (server) => {
  const clients = Array.from({ length: 5 }, (_, turn) => ({ text: `note ${turn}`, kept: {} as Wire }))
  const at = async (client: (typeof clients)[number], tool: string, args = {}): Promise<Wire> => {
    const capabilities = { extensions: { 'dev.pannier/client-state': {} } }
    const result = await byHand(`${server}_${tool}`, args, { capabilities, meta: { [SESSION]: client.kept } })
    client.kept = { ...client.kept, ...result._meta?.[SESSION] }
    return result
  }
  for (const client of clients) await at(client, 'note', { text: client.text })
  for (let time = 0; time < 3; time++)
    for (const client of clients) expect(textOf(await at(client, 'recall'))).toBe(client.text)
})

test('workers that other machines are to reach say once that these have none of their keys', async () => {
  expect(
    gateway.shown().match(/is to work with others \(PANNIER_ADVERTISE\), and has no keys: .*PANNIER_KEYS/g),
  ).toHaveLength(1)
})

async function countedCalls(tool: string): Promise<number> {
  const text = await (await fetch(`${gateway.admin}metrics`)).text()
  const samples = text.matchAll(new RegExp(`^pannier_gateway_calls_total\\{.*tool="${tool}".*\\} (\\d+)$`, 'gm'))
  return Array.from(samples).reduce((sum, [, count]) => sum + Number(count), 0)
}

test('health, servers and metrics are those of one gateway, and each call counts once', async () => {
  const before = await countedCalls('add')
  for (let time = 0; time < 6; time++) {
    await byHand('stdio_add', { a: 1, b: 2 })
    await byHand('ours_add', { a: 1, b: 2 })
  }
  expect(await countedCalls('add')).toBe(before + 12)
  const health = await (await fetch(`${gateway.admin}health`)).json()
  expect(health).toMatchObject({ live: true, ready: true, servers: 3, up: 3, leftOut: 0 })
  expect(health.workers).toMatchObject([
    { worker: 1, isServing: true },
    { worker: 2, isServing: true },
  ])
  expect(health.warnings.filter((warning: string) => warning.includes('"stdio" keeps something'))).toHaveLength(1)
  const { servers } = await (await fetch(`${gateway.admin}servers`)).json()
  expect(servers.map(({ name }: Wire) => name)).toEqual(['ours', 'http', 'stdio'])
  const stdio = servers[2]
  expect(stdio.links).toBe(stdio.workers.reduce((sum: number, { links }: Wire) => sum + links, 0))
  const metrics = await (await fetch(`${gateway.admin}metrics`)).text()
  expect(metrics.match(/^# TYPE pannier_gateway_calls_total /gm)).toHaveLength(1)
  for (const worker of [1, 2]) expect(metrics).toMatch(new RegExp(`calls_total\\{worker="${worker}",server="ours"`))
  expect(metrics).toMatch(/pannier_gateway_server_up\{worker="2",server="http"\} 1/)
})

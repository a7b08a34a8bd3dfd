/** Gateways that look up in PostgreSQL who of them serves which caller, and one that is killed, stopped or frozen. */
import { beforeAll, expect, test, vi } from 'vitest'
import { longTest } from '../longTest.ts'
import { freePort } from '../fixtures/httpHost.ts'
import { GatewayLease } from '../../src/gateway/placement/gatewayLease.ts'
import { Placements, postgres } from '../../src/postgres/internal.ts'
import { newDatabase, runSql } from '../postgres/database.ts'
import { startBalancer } from '../survival/balancer.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { type AnyClient, call, connectClient, sessionServer, stdioEntry } from './fixtures/gateways.ts'
import { startMember, startMortalMember } from './fixtures/member.ts'

const PATIENCE = { timeout: 50_000 }
const ends: (() => unknown)[] = []
const until = (end: () => unknown): void => void ends.unshift(end)
let http: Awaited<ReturnType<typeof sessionServer>>

beforeAll(async () => {
  http = await sessionServer(until)
  return async () => {
    for (const end of ends) await end()
  }
})

/** Two gateways behind a balancer that leads to the first. */
async function start(leaseSeconds: number) {
  const postgres = await newDatabase()
  const servers = {
    http: { url: http.url, pannier: { state: 'stateful' } },
    brief: { url: http.url, pannier: { state: 'stateful', idleSeconds: 1 } },
    stdio: stdioEntry(),
  }
  const settings = { leaseSeconds, postgres }
  const [first, second] = await Promise.all([
    startMortalMember(servers, { settings }),
    startMember(servers, { settings }),
  ])
  const balancer = await startBalancer()
  until(() => balancer.close())
  balancer.targets = [first.url]
  return { first, second, balancer, postgres }
}

const noted = (client: AnyClient): Promise<string[]> =>
  Promise.all(['http', 'stdio'].map((server) => call(client, `${server}_recall`)))

async function note(client: AnyClient, text: string): Promise<void> {
  for (const server of ['http', 'stdio']) await call(client, `${server}_note`, { text })
}

test('a session outlives a gateway that is killed, and is ended when nobody comes back for it', async () => {
  const { first, second, balancer, postgres } = await start(20)
  const [ann, bob] = await Promise.all(
    ['v1', 'v2 in a session'].map((kind) => connectClient(kind as 'v1', balancer.url)),
  )
  if (ann === undefined || bob === undefined) return expect.fail()
  await note(ann, 'milk')
  await note(bob, 'bread')
  await call(bob, 'brief_note', { text: 'salt' })
  const sessions = [...http.sessions.keys()]
  balancer.targets = [second.url]
  expect(await noted(ann)).toEqual(['milk', 'milk'])
  await first.end('SIGKILL')
  expect(await noted(ann)).toEqual(['milk', ''])
  expect(await noted(bob)).toEqual(['bread', ''])
  expect(await call(ann, 'http_confirm')).toBe('accept true, accept true')
  const rows = JSON.stringify(await runSql(postgres, 'SELECT * FROM pannier.placements'))
  const shown = first.shown() + second.shown()
  expect(rows).toContain('session')
  for (const session of sessions) expect(rows + shown).not.toContain(session)
  // Of the gateway that was killed, its own three sessions stay: nobody else knows them.
  await vi.waitFor(() => expect(sessions.filter((id) => !http.sessions.has(id))).toHaveLength(1), PATIENCE)
  expect(await noted(ann)).toEqual(['milk', ''])
})

longTest(
  'a caller stays where they are when a gateway is added, and with the next gateway at the address of one that is killed',
  async () => {
    const port = String(await freePort())
    const settings = { admin: false, postgres: await newDatabase() }
    const servers = { http: { url: http.url, pannier: { state: 'stateful' } }, stdio: stdioEntry() }
    const start = (...args: string[]) => startGatewayProcess(servers, { settings, args })
    const first = await start('--port', port)
    const balancer = await startBalancer()
    until(() => balancer.close())
    balancer.targets = [first.url]
    const clients = await Promise.all(['v1', 'v2'].map((kind) => connectClient(kind as 'v1', balancer.url)))
    for (const [turn, client] of clients.entries()) await note(client, `note ${turn}`)
    const added = await start()
    balancer.targets = [added.url]
    for (const [turn, client] of clients.entries())
      expect(await noted(client)).toEqual([`note ${turn}`, `note ${turn}`])
    await first.end('SIGKILL')
    const next = await start('--port', port)
    balancer.targets = [next.url]
    for (const [turn, client] of clients.entries()) expect(await noted(client)).toEqual([`note ${turn}`, ''])
  },
)

test('a gateway that is stopped hands its sessions on', async () => {
  const { first, second, balancer } = await start(20)
  const ann = await connectClient('v1', balancer.url)
  await note(ann, 'milk')
  balancer.targets = [second.url]
  const ended = first.end('SIGTERM')
  for (let time = 0; time < 3; time++) expect(await call(ann, 'http_recall')).toBe('milk')
  expect(await ended).toBe(0)
  expect(await noted(ann)).toEqual(['milk', ''])
})

test('a session that its server has forgotten is begun anew, and stored in the place of the old one', async () => {
  const { first, second, balancer } = await start(20)
  const [ann, bob] = await Promise.all(['v1', 'v2'].map((kind) => connectClient(kind as 'v1', balancer.url)))
  if (ann === undefined || bob === undefined) return expect.fail()
  for (const client of [ann, bob]) await note(client, 'milk')
  http.forgetAll()
  for (const client of [ann, bob]) {
    expect(await call(client, 'http_recall')).toBe('')
    await call(client, 'http_note', { text: 'eggs' })
  }
  balancer.targets = [second.url]
  await first.end('SIGKILL')
  for (const client of [ann, bob]) expect(await call(client, 'http_recall')).toBe('eggs')
})

longTest(
  'a gateway that is frozen loses its callers when its lease is over, and does not serve them when it is back',
  async () => {
    const { first, second, balancer } = await start(8)
    const [ann, bob] = [await connectClient('v1', balancer.url), await connectClient('v1', balancer.url)]
    await note(ann, 'milk')
    await note(bob, 'bread')
    process.kill(first.pid, 'SIGSTOP')
    balancer.targets = [second.url]
    expect(await noted(ann)).toEqual(['milk', ''])
    await call(ann, 'stdio_note', { text: 'salt' })
    process.kill(first.pid, 'SIGCONT')
    balancer.targets = [first.url]
    await vi.waitFor(async () => expect(await noted(ann)).toEqual(['milk', 'salt']), PATIENCE)
    // Nobody has taken bob, so that his process is still his.
    await vi.waitFor(async () => expect(await noted(bob)).toEqual(['bread', 'bread']), PATIENCE)
  },
)

/** On two machines, each gateway may be reached by its own loopback address: no test of the address tells that. */
test('gateways that say the same address to others are told so', async () => {
  const placements = new Placements(postgres({ url: await newDatabase() }))
  const told: unknown[] = []
  const logger = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (...line: unknown[]) => void told.push(line),
  }
  const enter = (): GatewayLease => {
    const address = (): string => 'http://127.0.0.1:8931'
    const reached = async (): Promise<void> => {}
    const hooks = { onLapsed: () => {}, onCallers: () => {} }
    return new GatewayLease({ placements, leaseMs: 3000, address, reached, logger: () => logger, ...hooks })
  }
  const [here, there] = [enter(), enter()]
  until(() => Promise.all([here.leave(), there.leave()]))
  expect(await here.known()).toBe(true)
  expect(told).toEqual([])
  expect(await there.known()).toBe(true)
  await vi.waitFor(() => expect(told).not.toEqual([]), PATIENCE)
  const sentence = expect.stringContaining('Another gateway took this one for gone')
  expect(told[0]).toEqual([{ address: 'http://127.0.0.1:8931' }, sentence])
})

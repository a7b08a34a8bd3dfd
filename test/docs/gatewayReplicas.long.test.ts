/** The guide "Three gateways behind nginx": its files, and what each client sees when one gateway is killed. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { parse } from 'jsonc-parser'
import { createServer } from 'pannier/server'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { freePort } from '../fixtures/httpHost.ts'
import { startPannier } from '../cli/fixtures/program.ts'
import { accept, call, type Wire } from '../fixtures/modernClient.ts'
import { effectTools } from '../gateway/fixtures/effectTools.ts'
import { sessionServer } from '../gateway/fixtures/gateways.ts'
import { TABLE } from '../gateway/fixtures/table.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { newDatabase } from '../postgres/database.ts'
import { startBalancer } from '../survival/balancer.ts'
import { hasNginx, startNginx } from './fixtures/nginx.ts'

const FILE = 'examples/gateway/replicas.jsonc'
const NGINX = 'examples/gateway/replicas.nginx.conf'
const PATIENCE = { timeout: 40_000 }
const LONG = { timeout: 120_000 }

const ends: (() => unknown)[] = []
const until = (end: () => unknown): void => void ends.unshift(end)
const effects: string[] = []
const file = join(mkdtempSync(join(tmpdir(), 'pannier-replicas-')), 'mcp.json')
let gateways: GatewayReplica[] = []
let url = ''
let env: Record<string, string> = {}

interface GatewayReplica {
  readonly base: string
  /** How many processes or sessions it has of a server, beside its own. */
  links(server: string): Promise<number>
  kill(): Promise<void>
}

/** A stateless server that asks. */
async function crm(): Promise<string> {
  const server = createServer({ name: 'crm', version: '1.0.0', keys: KEYS, logger: quiet })
  server.tool('discount', { description: 'Asks.' }, async (_, ctx) => {
    const { name } = await ctx.ask('name', { message: 'Who approves it?', schema: z.object({ name: z.string() }) })
    return `approved by ${name}`
  })
  const { url: address } = await server.listen({ drainOnTerm: false })
  until(() => server.drain({ deadlineMs: 0 }))
  return address
}

async function startReplica(
  port: number,
  env: Record<string, string>,
  args: readonly string[] = [],
): Promise<GatewayReplica> {
  const base = `http://127.0.0.1:${port}`
  const given = { env: { ...env, PANNIER_ADVERTISE: base }, input: null }
  const { child, ended } = startPannier(['gateway', file, '--port', String(port), ...args], given)
  let shown = ''
  child.stderr?.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  until(kill)
  await vi.waitFor(() => expect(shown).toMatch(TABLE), PATIENCE)
  const admin = /Health and servers: (\S+)health/.exec(shown)?.[1] ?? expect.fail(shown)
  const links = async (server: string): Promise<number> => {
    const page = (await (await fetch(`${admin}servers`)).json()) as { servers: { name: string; links: number }[] }
    return page.servers.find(({ name }) => name === server)?.links ?? 0
  }
  return { base, links, kill }
}

/** A session-era server that asks, and keeps something in each session. */
function desk(): McpServer {
  const server = effectTools(effects)
  let kept = ''
  server.registerTool('keep', { description: 'Keeps.', inputSchema: { text: z.string() } }, ({ text }) => {
    kept = text
    return { content: [] }
  })
  server.registerTool('kept', { description: 'What was kept.' }, () => ({ content: [{ type: 'text', text: kept }] }))
  return server
}

/** Starts three gateways behind nginx, which are used from now on. */
async function startThree(args: readonly string[] = []): Promise<void> {
  const ports = [await freePort(), await freePort(), await freePort()]
  const peers = ports.map((port) => `http://127.0.0.1:${port}`).join(',')
  gateways = await Promise.all(ports.map((port) => startReplica(port, { ...env, PANNIER_PEERS: peers }, args)))
  url = `${await frontOf(ports)}/mcp`
  await vi.waitFor(async () => expect((await fetch(url)).status).toBeGreaterThanOrEqual(400), PATIENCE)
}

beforeAll(async () => {
  until(() => rmSync(join(file, '..'), { recursive: true, force: true }))
  const config = parse(readFileSync(FILE, 'utf8')) as object
  writeFileSync(file, JSON.stringify({ ...config, gateway: { admin: { port: 0 } } }))
  env = {
    CRM_URL: await crm(),
    DESK_URL: (await sessionServer(until, desk)).url,
    NOTES_PROGRAM: fileURLToPath(new URL('../gateway/programs/sdkTools.ts', import.meta.url)),
  }
  await startThree()
}, 120_000)
afterAll(async () => {
  for (const end of ends) await end()
})

/** Where nginx is not installed, a plain balancer stands for it. */
async function frontOf(ports: readonly number[]): Promise<string> {
  if (!hasNginx()) {
    const balancer = await startBalancer()
    until(() => balancer.close())
    balancer.targets = ports.map((port) => `http://127.0.0.1:${port}/mcp`)
    return new URL(balancer.url).origin
  }
  const hosts = ['10.0.0.5:8931', '10.0.0.6:8931', '10.0.0.7:8931']
  const own = hosts.reduce(
    (config, host, at) => config.replace(host, `127.0.0.1:${ports[at]}`),
    readFileSync(NGINX, 'utf8'),
  )
  return startNginx(own, until)
}

/** A client of the session era; `answer` gives what its person answers. */
async function sessionClient(answer: () => Promise<string> = async () => 'Ann'): Promise<Client> {
  const client = new Client({ name: 'v1', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { name: await answer() } }))
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  until(() => client.close())
  return client
}

async function said(client: Client, name: string, args: object = {}): Promise<unknown> {
  const { content } = await client.callTool({ name, arguments: { ...args } })
  return (content as { text: string }[])[0]?.text
}

/** A call that another gateway was sending to the one that was killed may be lost; the next one is not. */
async function soonSays(client: Client, tool: string, text: string): Promise<void> {
  const answer = await vi.waitFor(() => said(client, tool), PATIENCE)
  expect(answer).toBe(text)
}

/** One round of a stateless client. */
async function round(tool: string, brought: Wire = {}): Promise<Wire> {
  const { requestState, inputResponses } = brought
  const { message } = await call(url, tool, { key: tool }, { params: { requestState, inputResponses } })
  return message.result ?? message.error
}

function answered({ requestState, inputRequests }: Wire, name: string): Wire {
  const keys = Object.keys(inputRequests)
  return { requestState, inputResponses: Object.fromEntries(keys.map((key) => [key, accept({ name })])) }
}

interface SessionOfGateway {
  readonly client: Client
  /** Whether its process is in the gateway that is killed. */
  readonly isLost: boolean
  readonly text: string
}

const textOf = (result: Wire): string => result.content?.[0]?.text
const effectsOf = (key: string): string[] => effects.filter((effect) => effect.endsWith(` ${key}`))

/** The gateway that has got another link to a server by this. */
async function holderOf(server: string, act: () => Promise<unknown>): Promise<GatewayReplica> {
  const counts = () => Promise.all(gateways.map((gateway) => gateway.links(server)))
  const before = await counts()
  await act()
  const after = await counts()
  return gateways[after.findIndex((count, at) => count > (before[at] ?? 0))] ?? expect.fail('no gateway has it')
}

test(
  'each client finds all servers, what it left, and who asked, whichever gateway a request comes to',
  LONG,
  async () => {
    const [ann, bob] = [await sessionClient(async () => 'Ann'), await sessionClient(async () => 'Bob')]
    await said(ann, 'notes_note', { text: 'milk' })
    await said(bob, 'notes_note', { text: 'bread' })
    for (let time = 0; time < 4; time++) {
      expect(await said(ann, 'notes_recall')).toBe('milk')
      expect(await said(bob, 'notes_recall')).toBe('bread')
    }
    expect(await said(ann, 'crm_discount')).toBe('approved by Ann')
    expect(await said(bob, 'desk_look', { key: 'bob' })).toBe('Bob Bob')
    expect(textOf(await round('crm_discount', answered(await round('crm_discount'), 'Carl')))).toBe('approved by Carl')
  },
)

test('when a gateway is killed, each client hears a result or what may have happened', LONG, async () => {
  const discount = await round('crm_discount')
  const look = await round('desk_look')
  let book: Wire
  const killed = await holderOf('desk', async () => (book = await round('desk_book')))
  const isKilled = Promise.withResolvers<string>()
  const clients = await clientsOfBoth(killed, () => isKilled.promise)
  const waiting = clients.map(({ client, text }) =>
    said(client, 'desk_book', { key: text }).catch((error: unknown) => error),
  )
  for (const { text } of clients) await vi.waitFor(() => expect(effects).toContain(`began ${text}`), PATIENCE)

  await killed.kill()
  isKilled.resolve('Ann')

  // The stateless server has nothing that could be lost, and the ticket of a read-only call has its answers.
  expect(textOf(await round('crm_discount', answered(discount, 'Carl')))).toBe('approved by Carl')
  const second = await round('desk_look', answered(look, 'Carl'))
  expect(textOf(await round('desk_look', answered(second, 'Dora')))).toBe('Carl Dora')
  // Nobody knows what any other call has done.
  const lost = await round('desk_book', answered(book, 'Carl'))
  expect(lost.data).toEqual({ code: 'CALL_LOST', server: 'desk' })
  expect(lost.message).toContain('may have happened, and nothing was repeated')
  expect(effectsOf('desk_book')).toEqual(['began desk_book'])

  const outcomes = await Promise.all(waiting)
  for (const [at, { client, isLost, text }] of clients.entries()) {
    const outcome = outcomes[at]
    // Of a call in another gateway only its stream may have been in the one that was killed.
    if (isLost || outcome !== 'Ann Ann') expect(outcome).toBeInstanceOf(Error)
    if (outcome === 'Ann Ann') expect(effectsOf(text)).toEqual([`began ${text}`, `done ${text}`])
    else expect(effectsOf(text).filter((effect) => effect.startsWith('began'))).toHaveLength(1)
    // The session goes on. What a process of the killed gateway kept is gone.
    await soonSays(client, 'notes_recall', isLost ? '' : text)
  }
  expect(outcomes).toContain('Ann Ann')
})

/** Session-era clients, some of which have a process in this gateway, and some in another. */
async function clientsOfBoth(killed: GatewayReplica, answer: () => Promise<string>): Promise<SessionOfGateway[]> {
  const clients: SessionOfGateway[] = []
  const count = (isLost: boolean): number => clients.filter((each) => each.isLost === isLost).length
  while (count(true) < 2 || count(false) < 3) {
    const client = await sessionClient(answer)
    const text = `text-${clients.length}`
    const holder = await holderOf('notes', () => said(client, 'notes_note', { text }))
    clients.push({ client, isLost: holder === killed, text })
    expect(clients.length).toBeLessThan(30)
  }
  return clients
}

test('with PostgreSQL a session at a server goes on in another gateway when its own is killed', LONG, async () => {
  await Promise.all(gateways.map((gateway) => gateway.kill()))
  await startThree(['--postgres', await newDatabase()])
  const client = await sessionClient()
  await said(client, 'desk_keep', { text: 'milk' })
  const killed = await holderOf('notes', () => said(client, 'notes_note', { text: 'milk' }))
  await killed.kill()
  await soonSays(client, 'desk_kept', 'milk')
  await soonSays(client, 'notes_recall', '')
})

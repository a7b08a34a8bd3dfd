/** What a session-era server learns of the clients of its callers. */
import { describe, expect, test } from 'vitest'
import { rows } from '../amount.ts'
import { newDatabase, runSql } from '../postgres/database.ts'
import { untilAllEnd } from './fixtures/bothEras.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import {
  type AnyClient,
  call,
  CLIENTS,
  connectClient,
  sessionServer,
  startGateway,
  stdioEntry,
} from './fixtures/gateways.ts'
import { ask } from './fixtures/statelessRequest.ts'

const principal = () => ({ id: 'ann' })
const FORMS = { elicitation: {} }
const APPS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } }
const until = untilAllEnd()

async function entryOf(over: string, state: string): Promise<object> {
  const pannier = { state }
  return over === 'stdio' ? stdioEntry(pannier) : { url: (await sessionServer(until)).url, pannier }
}

async function declaredBy(client: AnyClient): Promise<Record<string, unknown>> {
  return JSON.parse(await call(client, 'it_declared')) as Record<string, unknown>
}

const SERVERS: readonly [string, string][] = [
  ['stdio', 'stateful'],
  ['http', 'stateless'],
  ['http', 'stateful'],
  ['stdio', 'stateless'],
]

describe.each(rows(SERVERS, 2))('a server over %s that is %s', (over, state) => {
  test.each(CLIENTS)('proceeds for a client that cannot be asked, beside one that can: %s', async (kind) => {
    const { url } = await startGateway({ it: await entryOf(over, state) }, { principal })
    const [asked, unasked] = [await connectClient(kind, url, {}, FORMS), await connectClient(kind, url, {}, {})]
    for (let time = 0; time < 2; time++) {
      expect(await call(asked, 'it_careful')).toBe('asked: accept')
      expect(await call(unasked, 'it_careful')).toBe('not asked')
    }
  })

  test.each(CLIENTS)('learns what its client declares, Apps among it, and no other extension: %s', async (kind) => {
    const { url } = await startGateway({ it: await entryOf(over, state) }, { principal })
    const declared = { ...APPS, elicitation: { form: {} } }
    expect(await declaredBy(await connectClient(kind, url, {}, declared))).toEqual(declared)
    const more = { extensions: { ...APPS.extensions, 'dev.example/more': { of: 'it' } } }
    expect(await declaredBy(await connectClient(kind, url, {}, more))).toEqual(APPS)
    expect(await declaredBy(await connectClient(kind, url, {}, APPS))).toEqual(APPS)
    expect(await declaredBy(await connectClient(kind, url, {}, {}))).toEqual({})
  })
})

test('clients of one caller that declare the same share a process, and find what the other left', async () => {
  const { url, gateway } = await startGateway({ it: stdioEntry() }, { principal })
  const declarations = [{ elicitation: {} }, { elicitation: { form: {} } }, { elicitation: {}, roots: {} }]
  const clients = await Promise.all(CLIENTS.map((kind, at) => connectClient(kind, url, {}, declarations[at])))
  const [first = expect.fail(), second = expect.fail(), third = expect.fail()] = clients
  await call(first, 'it_note', { text: 'milk' })
  expect(await call(second, 'it_recall')).toBe('milk')
  expect(await call(third, 'it_recall')).toBe('')
  expect(gateway.backends[0]?.sender.links).toBe(2)
})

test('a session that another gateway resumes is that of a client with the same declaration', async () => {
  const servers = { it: await entryOf('http', 'stateful') }
  const args = ['--postgres', await newDatabase()]
  const first = await startGatewayProcess(servers, { args })
  const noted = await Promise.all(
    [FORMS, {}].map(async (capabilities, at) => {
      const client = await connectClient('v2', first.url, {}, capabilities)
      await call(client, 'it_note', { text: `note ${at}` })
      return capabilities
    }),
  )
  const second = await startGatewayProcess(servers, { args })
  await first.end('SIGTERM')
  for (const [at, capabilities] of noted.entries()) {
    const client = await connectClient('v2', second.url, {}, capabilities)
    expect(await call(client, 'it_recall')).toBe(`note ${at}`)
    expect(await call(client, 'it_careful')).toBe(at === 0 ? 'asked: accept' : 'not asked')
  }
})

test.each(['stateful', 'stateless'])(
  'a caller has one session of a %s server, however it names extensions',
  async (state) => {
    const { url, gateway } = await startGateway({ it: await entryOf('http', state) }, { principal })
    await callWithExtensions(url)
    expect(gateway.backends[0]?.sender.links).toBe(1)
  },
)

test('a caller has one lease in PostgreSQL, however it names extensions', async () => {
  const database = await newDatabase()
  const top = { gateway: { postgres: database } }
  const { url } = await startGateway({ it: await entryOf('http', 'stateful') }, { principal }, top)
  await callWithExtensions(url)
  expect(await runSql(database, 'SELECT FROM pannier.placements')).toHaveLength(1)
})

/** Ten calls of a client that declares other extensions each time. */
async function callWithExtensions(url: string): Promise<void> {
  for (let turn = 0; turn < 10; turn++) {
    const ui = { mimeTypes: [`text/${turn}`], [turn]: {} }
    const capabilities = { extensions: { [`dev.example/${turn}`]: {}, 'io.modelcontextprotocol/ui': ui } }
    const meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities }
    const { result } = await ask(url, { params: { name: 'it_note', arguments: { text: 'milk' } }, meta })
    expect(result).toMatchObject({ content: [{ text: 'noted' }] })
  }
}

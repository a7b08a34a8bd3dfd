/** A server at several addresses. */
import { createServer } from 'node:http'
import { gatewayConfigOf } from 'pannier/gateway'
import { expect, onTestFinished, test, vi } from 'vitest'
import { hostUntil } from '../fixtures/until.ts'
import { freePort } from '../fixtures/httpHost.ts'
import { serversOf } from '../../src/gateway/admin/health.ts'
import { call, CLIENTS, connectClient, modernServer, sessionServer, startGateway } from './fixtures/gateways.ts'
import { ask, type RequestParts } from './fixtures/statelessRequest.ts'
import { json, type Received, result, ScriptedServer } from './fixtures/statelessServers.ts'

const PATIENCE = { timeout: 30_000 }
const FACTS = { knowsCallers: false, gateways: 'one' } as const

/** Where one server is reached, and read: at its own address bytes pass, at that of all servers they do not. */
const WAYS: [string, RequestParts][] = [
  ['/one', { params: { name: 'thing', arguments: {} } }],
  ['', { params: { name: 'one_thing', arguments: {} } }],
]

async function replicas(count: number): Promise<ScriptedServer[]> {
  return Promise.all(Array.from({ length: count }, () => new ScriptedServer().start()))
}

function entryOf([first = '', ...urls]: readonly string[]): object {
  return { one: { url: first, pannier: { state: 'stateless', urls } } }
}

/** The address of a server that is not there. */
async function deadUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/mcp`
}

test.each(WAYS)('requests at /mcp%s go to the address with the fewest under way', async (path, parts) => {
  const servers = await replicas(3)
  const { url } = await startGateway(entryOf(servers.map((server) => server.url)))
  const waiting: Received[] = []
  for (const server of servers) server.answer = (received) => void waiting.push(received)
  const asked = [1, 2, 3, 4, 5, 6].map((id) => ask(url + path, { ...parts, id }))
  await vi.waitFor(() => expect(waiting).toHaveLength(6), PATIENCE)
  expect(servers.map(({ received }) => received.length)).toEqual([2, 2, 2])
  for (const { res, body } of waiting) json(res, result(body, { content: [] }))
  for (const { result: answer } of await Promise.all(asked)) expect(answer).toBeDefined()
})

test.each(WAYS)(
  'at /mcp%s an address to which connecting fails is left out, and used again later',
  async (path, parts) => {
    const [here = expect.fail()] = await replicas(1)
    const dead = await deadUrl()
    const { url, gateway } = await startGateway(entryOf([dead, here.url]))
    here.answer = ({ res, body }) => json(res, result(body, { content: [] }))
    for (let time = 0; time < 4; time++) expect((await ask(url + path, parts)).result).toBeDefined()
    const shown = (): unknown => serversOf(gateway.backends, FACTS)[0]?.['replicas']
    expect(shown()).toMatchObject([{ isOut: true }, { isOut: false }])
    expect(gateway.report().health['warnings']).toEqual([
      `The server "one" is not used at ${dead}, because connecting fails there. That is tried again.`,
    ])
    const later = new ScriptedServer()
    later.answer = here.answer
    const host = createServer((req, res) => void later.serve(req, res)).listen(Number(new URL(dead).port), '127.0.0.1')
    onTestFinished(() => {
      host.close()
      host.closeAllConnections()
    })
    await vi.waitFor(() => expect(shown()).toMatchObject([{ isOut: false }, { isOut: false }]), PATIENCE)
    await vi.waitFor(async () => {
      await ask(url + path, parts)
      expect(later.received.length).toBeGreaterThan(0)
    }, PATIENCE)
  },
)

test.each(WAYS)('at /mcp%s a request that a server may have got is not sent to another', async (path, parts) => {
  const servers = await replicas(2)
  const { url } = await startGateway(entryOf(servers.map((server) => server.url)))
  for (const server of servers) server.answer = ({ res }) => res.destroy()
  expect((await ask(url + path, parts)).error?.data).toEqual({ code: 'BACKEND_LOST', server: 'one' })
  expect(servers.flatMap(({ received }) => received)).toHaveLength(1)
})

test.each(WAYS)('at /mcp%s a request that finds no address names the server', async (path) => {
  const { server, url: here } = await modernServer()
  const { url } = await startGateway(entryOf([here, await deadUrl()]))
  await server.drain({ deadlineMs: 0 })
  const add = { name: `${path === '' ? 'one_' : ''}add`, arguments: { a: 1, b: 2 } }
  expect((await ask(url + path, { params: add })).error?.data).toEqual({ code: 'BACKEND_DOWN', server: 'one' })
})

test('official clients are asked and answered over several addresses', async () => {
  const servers = await Promise.all([modernServer(), modernServer(), modernServer()])
  const { url } = await startGateway(entryOf(servers.map((server) => server.url)))
  for (const kind of ['v1', 'v2'] as const)
    for (const [path, prefix] of [
      ['', 'one_'],
      ['/one', ''],
    ]) {
      const client = await connectClient(kind, url + path)
      expect(await call(client, `${prefix}confirm`)).toBe('accept true, accept true')
    }
})

test('a server that redirects to another path of its own is used there', async () => {
  const { server } = await modernServer()
  const handler = server.nodeHandler()
  const host = await hostUntil((req, res) => {
    if (req.url === '/mcp/') handler(req, res)
    else res.writeHead(307, { location: '/mcp/' }).end()
  })
  const { url } = await startGateway(entryOf([host.url]))
  const args = { a: 1, b: 2 }
  expect((await ask(`${url}/one`, { params: { name: 'add', arguments: args } })).result).toBeDefined()
  expect((await ask(url, { params: { name: 'one_add', arguments: args } })).result).toBeDefined()
})

test.each([
  [{ command: 'node' }, 'mcpServers.one.pannier.urls are for a server that has a "url"'],
  [{ url: 'http://127.0.0.1:1/mcp', type: 'sse' }, 'mcpServers.one.pannier.urls are for a server that has a "url"'],
])('replicas of %j are refused', async (entry, sentence) => {
  const one = { ...entry, pannier: { urls: ['http://127.0.0.1:2/mcp'] } }
  await expect(gatewayConfigOf({ mcpServers: { one } })).rejects.toThrow(sentence)
})

test('sessions are begun at the first address alone', async () => {
  const [first, second] = [await sessionServer(), await sessionServer()]
  const begun = vi.spyOn(second.sessions, 'set')
  const { url } = await startGateway({ one: { url: first.url, pannier: { state: 'stateful', urls: [second.url] } } })
  for (const kind of CLIENTS) {
    const client = await connectClient(kind, url)
    expect(await call(client, 'one_add', { a: 1, b: 2 })).toBe('3')
    expect(await call(client, 'one_confirm')).toBe('accept true, accept true')
  }
  expect(begun).not.toHaveBeenCalled()
})

test('an address of a replica that is none is named with its place', async () => {
  const one = { url: 'http://127.0.0.1:1/mcp', pannier: { urls: ['http://127.0.0.1:2/mcp', 'ftp://x'] } }
  await expect(gatewayConfigOf({ mcpServers: { one } })).rejects.toThrow('mcpServers.one.pannier.urls[1]')
})

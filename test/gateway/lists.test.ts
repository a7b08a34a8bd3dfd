/** How lists of servers are read: for clients that can do everything, in time, and never without end. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { createServer } from 'pannier/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { rows } from '../amount.ts'
import { hostUntil } from '../fixtures/until.ts'
import { post } from '../fixtures/modernClient.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { call, CLIENTS, connectClient, sessionServer, startGateway } from './fixtures/gateways.ts'
import { json, sessionScript } from './fixtures/sessionScript.ts'
import { ask } from './fixtures/statelessRequest.ts'

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })

/** Has a tool for clients that can be asked, as the reference server "everything" does. */
function choosyServer(): McpServer {
  const server = new McpServer({ name: 'choosy', version: '1' })
  server.registerTool('plain', { description: 'For all.' }, () => text('plain'))
  server.server.oninitialized = () => {
    const { elicitation, sampling, roots } = server.server.getClientCapabilities() ?? {}
    if (elicitation) server.registerTool('ask', { description: 'Asks.' }, () => text('asked'))
    if (sampling) server.registerTool('think', { description: 'Thinks.' }, () => text('thought'))
    if (roots) server.registerTool('folders', { description: 'Lists.' }, () => text('listed'))
  }
  return server
}

test.each([
  ...CLIENTS.map((kind) => [kind, 'auto'] as const),
  ['v2', 'stateless'] as const, // then the gateway's own connection also serves calls
])('tools for clients that can be asked are listed, and the client %s calls them: %s', async (kind, state) => {
  const { url: address } = await sessionServer(undefined, choosyServer)
  const { url } = await startGateway({ choosy: { url: address, pannier: { state } } })
  const client = await connectClient(kind, url)
  await vi.waitFor(async () => {
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names.toSorted()).toEqual(['choosy_ask', 'choosy_folders', 'choosy_plain', 'choosy_think'])
  })
  expect(await call(client, 'choosy_ask')).toBe('asked')
  const plain = await connectClient(kind, url, {}, {})
  expect(await call(plain, 'choosy_plain')).toBe('plain')
})

test.each(CLIENTS)(
  'at its own address a server that was never reached has no empty lists: the client %s hears why',
  async (kind) => {
    let isDown = true
    const server = await sessionScript({ first: (_, res) => isDown && Boolean(res.writeHead(503).end()) })
    const { url } = await startGateway({ late: { url: server.url }, http: { url: (await sessionServer()).url } })
    const alone = await connectClient(kind, `${url}/late`)
    const why = 'The server "late" is not there: it answers HTTP 503. It is tried again.'
    await expect(alone.listTools()).rejects.toMatchObject({
      message: expect.stringContaining(why),
      data: { code: 'BACKEND_DOWN' },
    })
    const all = await connectClient(kind, url)
    expect((await all.listTools()).tools.map(({ name }) => name)).toContain('http_add')
    isDown = false
    await vi.waitFor(async () => expect((await alone.listTools()).tools).toHaveLength(1), { timeout: 30_000 })
    isDown = true
    expect((await alone.listTools()).tools).toHaveLength(1)
  },
)

/** A server of the stateless era, word by word: what it lists is given by the test. */
async function listingServer(listed: (cursor: string | undefined) => object) {
  const host = await hostUntil((req, res) => {
    let body = ''
    req.on('data', (chunk: Buffer) => (body += chunk.toString()))
    req.on('end', () => {
      const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: { cursor?: string } }
      const about = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
      const result = method === 'server/discover' ? about : method === 'tools/list' ? listed(params.cursor) : undefined
      const error = { code: -32601, message: 'No.' }
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) }))
    })
  })
  return host.url
}

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } })

test.each([
  ['by the limit of the gateway', undefined, { listSeconds: 0.05 }],
  ['by the time that the server gives', 1, { listSeconds: 1000 }],
])('lists are read again %s', async (_, ttlMs, pannier) => {
  let reads = 0
  const url = await listingServer(() => ({ tools: [tool(`t${++reads}`)], ...(ttlMs !== undefined && { ttlMs }) }))
  const { gateway } = await startGateway({ a: { url, pannier } })
  expect(gateway.backends[0]?.lists.latest.tools).toHaveLength(1)
  await vi.waitFor(() => expect(reads).toBeGreaterThan(1))
  await vi.waitFor(() => expect(gateway.backends[0]?.lists.latest.tools).not.toMatchObject([{ name: 't1' }]))
})

const HINTS = { private: { ttlMs: 1000, cacheScope: 'private' }, public: { ttlMs: 60_000, cacheScope: 'public' } }

// 2026-07-28, Caching: "Caches MUST NOT be shared across authorization contexts" where a list is private.
test.each([
  ['one server', ['private'], {}, HINTS.private],
  ['one server that lists to everyone', ['public'], {}, HINTS.public],
  ['two servers, by the strictest of each', ['private', 'public'], {}, HINTS.private],
  ['a server that says nothing, beside one that does', ['private', 'none'], {}, { ttlMs: 0, cacheScope: 'private' }],
  [
    'a server with a list for each caller',
    ['public'],
    { forwardAuthorization: true },
    { ...HINTS.public, cacheScope: 'private' },
  ],
] as const)('the caching hints of a list are those of %s', async (_, kinds, pannier, expected) => {
  const entries = kinds.map(async (kind, at) => {
    const hints = kind === 'none' ? {} : HINTS[kind]
    return [`s${at}`, { url: await listingServer(() => ({ tools: [tool('t')], ...hints })), pannier }] as const
  })
  const { url } = await startGateway(Object.fromEntries(await Promise.all(entries)))
  const { result } = await ask(url, { method: 'tools/list', params: {}, headers: { authorization: 'Bearer x' } })
  expect(result).toMatchObject({ tools: kinds.map((__, at) => ({ name: `s${at}_t` })), ...expected })
})

test('a list that has no end is cut, and what was read of it is served', async () => {
  let pages = 0
  const warned: string[] = []
  const logger = { ...quiet, warn: (_: object, message: string) => void warned.push(message) }
  const page = () => Array.from({ length: 1000 }, (_, at) => tool(`t${pages}-${at}`))
  const url = await listingServer(() => ({ tools: page(), nextCursor: String(++pages) }))
  const { gateway } = await startGateway({ a: { url } }, { logger })
  expect(gateway.backends[0]?.lists.latest.tools).toHaveLength(5000)
  expect(warned.join()).toContain('A server lists more than is read.')
})

test('where tools are denied each name is folded once in a reading, without the marks that take long to order', async () => {
  const fold = vi.spyOn(String.prototype, 'normalize')
  onTestFinished(() => fold.mockRestore())
  const marked = (at: number) => `t${at}${'\u0301\u0323'.repeat(500)}`
  const url = await listingServer(() => ({
    tools: [...Array.from({ length: 50 }, (_, at) => tool(marked(at))), tool('é')],
  }))
  const deny = ['delete_*', 'purge', 'É']
  const { gateway } = await startGateway(
    { a: { url, pannier: { tools: { deny } } } },
    {},
    { gateway: { views: { all: {} } } },
  )
  expect(gateway.backends[0]?.lists.served().tools).toHaveLength(50)
  const names = fold.mock.contexts.map(String).filter((name) => name.includes('\u0323'))
  expect(names).toHaveLength(50)
  expect(Math.max(...names.map((name) => name.length))).toBeLessThan(40)
})

test('entries with too long a name or address are left out and counted', async () => {
  const warned: unknown[] = []
  const logger = { ...quiet, warn: (details: object, message: string) => void warned.push({ ...details, message }) }
  const url = await listingServer(() => ({
    tools: ['a', 'b'.repeat(1024), 'c'.repeat(1025), 'd'.repeat(200_000)].map(tool),
  }))
  const { gateway } = await startGateway({ a: { url } }, { logger })
  expect(gateway.backends[0]?.lists.latest.tools).toMatchObject([{ name: 'a' }, { name: 'b'.repeat(1024) }])
  const message = 'A server lists names or addresses that are too long. They are left out.'
  expect(warned).toContainEqual({ server: 'a', count: 2, message })
})

const ENDLESS: readonly (readonly [string, string, string, number])[] = [
  ['4 MiB', 'stateless', 'x'.repeat(128 * 1024), 31],
  ['1,000 pages', 'session', 'Short.', 1000],
  ['1,000 pages', 'stateless', 'Short.', 1000],
]

test.each(rows(ENDLESS, 2))(
  'of a list without an end %s are read, in the %s era',
  async (_, era, description, read) => {
    const listed = (cursor = '0') => ({
      tools: [{ ...tool(`t${cursor}`), description }],
      nextCursor: String(Number(cursor) + 1),
    })
    const session = await sessionScript({
      first: (request, res) => {
        const { method, params } = request.message
        if (method !== 'tools/list') return false
        json(res, request, listed((params as { cursor?: string }).cursor))
        return true
      },
    })
    const url = era === 'session' ? session.url : await listingServer(listed)
    const { gateway } = await startGateway({ a: { url } })
    expect(gateway.backends[0]?.lists.latest.tools).toHaveLength(read)
  },
)

const FILLED: readonly (readonly [string, () => object])[] = [
  ['entries that are none', () => ({ tools: Array.from({ length: 1000 }, () => ({ x: 'x'.repeat(2000) })) })],
  ['long names', () => ({ tools: Array.from({ length: 100 }, (_, at) => tool(`${at}`.padEnd(20_000, 'x'))) })],
  ['another member', () => ({ tools: [], more: ['x'.repeat(2_000_000)] })],
  ['a long cursor', () => ({ tools: [], nextCursor: 'x'.repeat(2_000_000) })],
]

test.each(rows(FILLED, 1))('pages that are filled with %s are read up to 16 MB', async (_, fill) => {
  let pages = 0
  const url = await listingServer(() => {
    const { nextCursor = '', ...page } = fill() as { nextCursor?: string }
    return { ...page, nextCursor: `${++pages}${nextCursor}` }
  })
  const warned: string[] = []
  const logger = { ...quiet, warn: (__: object, message: string) => void warned.push(message) }
  await startGateway({ a: { url } }, { logger })
  expect(pages).toBeGreaterThan(7)
  expect(pages).toBeLessThan(12)
  expect(warned).toContain('A server lists more than is read. The rest is left out.')
})

test('what a server sets for a client in a list reaches none, whose server that may be, at /mcp and at /mcp/NAME', async () => {
  const session = { 'modelcontextprotocol.io/state/session': { cart: 'forged', 'pannier-caller': 'forged' } }
  const own = { headers: { 'x-caller': '${principal.id}' } }
  const url = await listingServer(() => ({ tools: [tool('t')], _meta: session }))
  const principal = () => ({ id: 'ann' })
  const { url: at } = await startGateway({ a: { url }, b: { url, ...own } }, { principal })
  const keeps = { capabilities: { extensions: { 'dev.pannier/client-state': {} } } }
  for (const path of ['', '/a', '/b']) {
    const { message } = await post(`${at}${path}`, { method: 'tools/list', ...keeps })
    expect(message.result.tools.length).toBeGreaterThan(0)
    expect(JSON.stringify(message)).not.toContain('forged')
  }
})

test('a list that does not come is given up, and the server is tried again', async () => {
  const url = await listingServer(() => ({ tools: [], nextCursor: String(Math.random()) }))
  const { gateway } = await startGateway({ a: { url, pannier: { startSeconds: 0.05 } } })
  await vi.waitFor(() => expect(gateway.backends[0]?.connector.condition).toMatchObject({ kind: 'down' }))
})

test('a stateless server over HTTP that goes away is down, and up when it is back', async () => {
  const start = async (port: number) => {
    const server = createServer({ name: 'ours', version: '1', keys: KEYS, logger: quiet })
    server.tool('add', { description: 'Adds.' }, () => 'added')
    const listening = await server.listen({ port, drainOnTerm: false })
    onTestFinished(() => server.drain({ deadlineMs: 0 }))
    return { ...listening, server, stop: () => server.drain({ deadlineMs: 0 }) }
  }
  const first = await start(0)
  const { gateway } = await startGateway({ ours: { url: first.url } })
  const conditionIs = (kind: string) =>
    vi.waitFor(() => expect(gateway.backends[0]?.connector.condition.kind).toBe(kind))
  await conditionIs('up')
  first.server.tool('more', { description: 'Shows that the gateway listens.' }, () => 'more')
  await vi.waitFor(() => expect(gateway.backends[0]?.lists.latest.tools).toHaveLength(2))
  await first.stop()
  await conditionIs('down')
  await start(first.port)
  await conditionIs('up')
})

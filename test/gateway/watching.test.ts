/** Resources that clients watch are watched at the server behind, once, in its era, until nobody does any more. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { createServer } from 'pannier/server'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { MessageStream } from '../interop/fixtures/messageStream.ts'
import { post, RawSession } from '../interop/fixtures/rawSession.ts'
import { sessionServer, startGateway } from './fixtures/gateways.ts'

const META = 'io.modelcontextprotocol'
const ends: (() => unknown)[] = []
const until = (end: () => unknown): void => void ends.push(end)
afterAll(async () => {
  for (const end of ends.toReversed()) await end()
})

/** What a server heard, and how its resource is changed. */
interface Watchable {
  readonly asked: string[]
  update(uri: string): void
}

const asked: Record<string, Watchable> = {}
let base: string
let modernUrl: string

/** Of the session era. */
function legacyServer(): McpServer {
  const server = new McpServer({ name: 'old', version: '1' }, { capabilities: { resources: { subscribe: true } } })
  const text = (uri: URL) => ({ contents: [{ uri: uri.href, text: 'x' }] })
  server.registerResource('one', 'item://one', {}, text)
  server.registerResource('both', 'item://both', {}, text)
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    asked['legacy']?.asked.push(`+${params.uri}`)
    updaters.add(server)
    return {}
  })
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    asked['legacy']?.asked.push(`-${params.uri}`)
    return {}
  })
  return server
}

const updaters = new Set<McpServer>()

beforeAll(async () => {
  asked['legacy'] = {
    asked: [],
    update: (uri) => {
      for (const server of updaters) void server.server.sendResourceUpdated({ uri })
    },
  }
  const server = createServer({ name: 'new', version: '1', keys: KEYS, logger: quiet })
  server.resource('item://two', { name: 'two' }, () => 'x')
  server.resource('item://both', { name: 'both' }, () => 'x')
  modernUrl = (await server.listen({ drainOnTerm: false })).url
  until(() => server.drain({ deadlineMs: 0 }))
  asked['modern'] = { asked: [], update: (uri) => server.updated(uri) }
  const legacy = await sessionServer(until, legacyServer)
  const started = await startGateway({ legacy: { url: legacy.url }, modern: { url: modernUrl } }, {}, {}, until)
  base = started.url
})

async function listen(url: string, uris: readonly string[], acknowledged = uris): Promise<MessageStream> {
  const abort = new AbortController()
  const _meta = { [`${META}/protocolVersion`]: '2026-07-28', [`${META}/clientCapabilities`]: {} }
  const params = { notifications: { resourceSubscriptions: uris }, _meta }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
  const message = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }
  const stream = new MessageStream(await post(url, headers, message, abort.signal), abort)
  onTestFinished(() => abort.abort())
  expect(await stream.next()).toMatchObject({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { resourceSubscriptions: acknowledged } },
  })
  return stream
}

async function subscribe(url: string, uris: readonly string[]) {
  const session = await RawSession.begin(url)
  const stream = await session.listen()
  for (const uri of uris) await session.request('resources/subscribe', { uri })
  onTestFinished(() => void session.end())
  return { session, stream }
}

/** The address in the next notification of an update. Lists may change meanwhile. */
async function nextUpdated(stream: { next(): Promise<unknown> }): Promise<string | undefined> {
  for (;;) {
    const { method, params } = (await stream.next()) as { method?: string; params?: { uri?: string } }
    if (method === 'notifications/resources/updated') return params?.uri
  }
}

describe.each([
  ['legacy', 'item://one', 'item://one'],
  ['legacy', 'item://both', 'pannier://legacy/item://both'],
  ['modern', 'item://two', 'item://two'],
  ['modern', 'item://both', 'pannier://modern/item://both'],
])('a resource of a server of the %s era, %s', (name, uri, exposed) => {
  test('tells clients of both eras, on both addresses, when it is updated', async () => {
    const own = new URL(`/mcp/${name}`, base).href
    const modernUnion = await listen(base, [exposed])
    const modernOwn = await listen(own, [uri])
    const legacyUnion = await subscribe(base, [exposed])
    const legacyOwn = await subscribe(own, [uri])
    const streams = [modernUnion, modernOwn, legacyUnion.stream, legacyOwn.stream]
    const heard = Promise.all(streams.map(nextUpdated))
    // When the server has heard of it is not told, so the resource is updated until somebody has heard.
    const timer = setInterval(() => asked[name]?.update(uri), 100)
    onTestFinished(() => clearInterval(timer))
    expect(await heard).toEqual([exposed, uri, exposed, uri])
  })
})

const thousand = Array.from({ length: 1000 }, (_, index) => `pannier://modern/j:${index}`)

test('who watches a thousand resources takes the news from nobody', async () => {
  await listen(base, thousand)
  const stream = await listen(base, ['item://two'])
  const timer = setInterval(() => asked['modern']?.update('item://two'), 100)
  onTestFinished(() => clearInterval(timer))
  expect(await stream.next()).toMatchObject({ params: { uri: 'item://two' } })
})

test('what one caller watches beyond half of all is left out, or refused', async () => {
  const { url } = await startGateway({ modern: { url: modernUrl } })
  for (let time = 0; time < 5; time++) await listen(url, thousand)
  await listen(url, ['item://two'], [])
  const session = await RawSession.begin(url)
  const refused = await session.request('resources/subscribe', { uri: 'item://two' })
  expect(refused.error?.message).toContain('limit of watched resources')
})

test('a server of the session era is asked once, and told when nobody watches any more', async () => {
  const heard = asked['legacy']?.asked ?? []
  await vi.waitFor(() => expect(heard.filter((each) => each.endsWith('one'))).toHaveLength(2))
  heard.length = 0
  const first = await subscribe(base, ['item://one'])
  const second = await subscribe(new URL('/mcp/legacy', base).href, ['item://one'])
  await vi.waitFor(() => expect(heard).toEqual(['+item://one']))
  await first.session.request('resources/unsubscribe', { uri: 'item://one' })
  await second.session.end()
  await vi.waitFor(() => expect(heard).toEqual(['+item://one', '-item://one']))
})

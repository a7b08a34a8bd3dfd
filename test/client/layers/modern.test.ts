/** A v1 client, which knows only sessions, through `modern()` to servers that know only the stateless revision. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { modern, modernFetch } from 'pannier/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandOf, type Instance, STDIO_PROGRAM } from '../../interop/fixtures/instances.ts'
import { README } from '../../interop/fixtures/tools.ts'
import { Above, FakeTransport, type Loose, settled } from '../fixtures/fakeTransport.ts'
import { startLayersServer, text } from '../fixtures/clients.ts'

/** A server of the session era that hears nothing before `initialize`; then it says at last what it was asked first. */
const DEAF = `
  const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
  const early = []
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (method === 'server/discover') early.push(id)
    if (method === 'tools/call') say({ id, result: { content: [{ type: 'text', text: String(early.length) }] } })
    if (method !== 'initialize') return
    for (const each of early) say({ id: each, error: { code: -32601, message: 'What?' } })
    const { protocolVersion } = params
    say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'deaf', version: '1' } } })
  })`

const me = { name: 'old', version: '1' }

describe.each(['HTTP', 'stdio'])('over %s', (host) => {
  let instance: Instance
  let client: Client
  const requests: { method: string | undefined; mcp: string | null; version: string | null }[] = []
  const faults: Error[] = []
  const call = (name: string, args = {}, options = {}) => client.callTool({ name, arguments: args }, undefined, options)

  beforeAll(async () => {
    instance = await startLayersServer()
    const seen: typeof fetch = (url, init) => {
      const headers = new Headers(init?.headers)
      const version = headers.get('mcp-protocol-version')
      requests.push({ method: init?.method, mcp: headers.get('mcp-method'), version })
      return fetch(url, init)
    }
    const http = new StreamableHTTPClientTransport(new URL(instance.url), { fetch: modernFetch(seen) })
    client = new Client(me)
    client.onerror = (error) => void faults.push(error)
    await client.connect(modern()(host === 'HTTP' ? http : new StdioClientTransport(commandOf(STDIO_PROGRAM))))
  })
  afterAll(async () => {
    delete client.onerror
    await client.close()
    instance.close()
    expect(faults).toEqual([])
  })

  test('the handshake is made of discover, and every request is one of the revision', async () => {
    expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true }, logging: {} })
    expect(await call('echo', { text: 'hi' })).toMatchObject(text('hi'))
    await client.ping()
    if (host === 'stdio') return
    expect(requests.map(({ mcp }) => mcp)).toEqual(['server/discover', 'subscriptions/listen', 'tools/call'])
    expect(new Set(requests.map(({ method, version }) => `${method} ${version}`))).toEqual(new Set(['POST 2026-07-28']))
  })

  test('errors of the revision arrive as errors', async () => {
    await expect(call('greet')).rejects.toMatchObject({ code: -32021 })
    await expect(call('nothing')).rejects.toMatchObject({ code: -32602 })
    await expect(client.request({ method: 'no/such' }, {} as never)).rejects.toMatchObject({ code: -32601 })
  })

  test('arguments that belong into headers get there', async () => {
    await client.listTools()
    expect(await call('query', { region: ' Zürich ' })).toMatchObject(text('from  Zürich '))
    expect(await call('query', {})).toMatchObject(text('from undefined'))
  })

  test('the log level goes with each request', async () => {
    const heard: unknown[] = []
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void heard.push(params.data))
    await call('chatter')
    expect(heard).toEqual([])
    await client.setLoggingLevel('info')
    await call('chatter')
    expect(heard).toEqual(['said at info', 'said at error'])
    await expect(client.setLoggingLevel('loud' as never)).rejects.toThrow()
  })

  test('resources and lists that change are heard of, until it unsubscribes', async () => {
    const heard: string[] = []
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void heard.push(params.uri))
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.push('tools'))
    const other = 'docs://logo'
    await Promise.all([client.subscribeResource({ uri: README }), client.subscribeResource({ uri: other })])
    await call('touch', { uri: README })
    await call('touch', { uri: other })
    await expect.poll(() => heard.toSorted()).toEqual([other, README].toSorted())
    await client.unsubscribeResource({ uri: other })
    await call('grow', { name: `late_${host}` })
    await expect.poll(() => heard.filter((each) => each === 'tools')).toEqual(['tools'])
    await expect
      .poll(async () => {
        heard.length = 0
        await call('touch', { uri: other })
        await call('touch', { uri: README })
        await new Promise((resolve) => setTimeout(resolve, 20))
        return heard
      })
      .toEqual([README])
  })

  test('a call is cancelled, and the handler is told', async () => {
    const abort = new AbortController()
    const held = call('hold', {}, { signal: abort.signal, onprogress: () => abort.abort('enough') })
    await expect(held).rejects.toThrow('enough')
    expect(await call('released')).toMatchObject(text('1 cancelled'))
  })
})

test('a process that does not answer what it is gets a session, and its late answer troubles nobody', async () => {
  const faults: Error[] = []
  const client = new Client(me)
  client.onerror = (error) => void faults.push(error)
  const transport = new StdioClientTransport({ command: process.execPath, args: ['-e', DEAF] })
  await client.connect(modern({ probeMs: 50 })(transport))
  expect(client.getServerVersion()).toMatchObject({ name: 'deaf' })
  expect(await client.callTool({ name: 'asked' })).toMatchObject(text('1'))
  await client.close()
  expect(faults).toEqual([])
})

describe('a server that is no good', () => {
  type Reply = (message: Loose, res: ServerResponse, req: IncomingMessage) => void
  const open: (() => void)[] = []

  async function serving(reply: Reply): Promise<StreamableHTTPClientTransport> {
    const server = createServer((req, res) => {
      let body = ''
      req.on('data', (chunk) => (body += chunk))
      req.on('end', () => reply(body === '' ? undefined : JSON.parse(body), res, req))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    open.push(
      () => server.closeAllConnections(),
      () => server.close(),
    )
    const { port } = server.address() as AddressInfo
    return new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/`), { fetch: modernFetch() })
  }
  const json = (res: ServerResponse, body: object, status = 200) =>
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', ...body }))
  const discovered = {
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    resultType: 'complete',
    ttlMs: 0,
    cacheScope: 'private',
  }
  const orElse =
    (reply: Reply): Reply =>
    (message, res, req) =>
      message.method === 'server/discover'
        ? json(res, { id: message.id, result: discovered })
        : reply(message, res, req)

  afterAll(() => open.forEach((close) => close()))

  test('a stream that breaks off fails its call at once', async () => {
    const client = new Client(me)
    const transport = await serving(
      orElse((_, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.write('data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n')
        setTimeout(() => res.destroy(), 20)
      }),
    )
    await client.connect(modern()(transport))
    await expect(client.callTool({ name: 'x' })).rejects.toMatchObject({ data: { code: 'STREAM_ENDED' } })
    await client.close()
  })

  test('tools whose headers break the rules are left out of the list', async () => {
    const schema = (annotation: unknown, type = 'string') => ({
      type: 'object',
      properties: { a: { type, 'x-mcp-header': annotation } },
    })
    const tools = [
      { name: 'good', inputSchema: schema('A') },
      { name: 'bad name', inputSchema: schema('A B') },
      { name: 'bad type', inputSchema: schema('A', 'number') },
      { name: 'plain', inputSchema: { type: 'object' } },
    ]
    const client = new Client(me)
    const result = { tools, resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
    await client.connect(modern()(await serving(orElse(({ id }, res) => json(res, { id, result })))))
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['good', 'plain'])
    await client.close()
  })

  test('a server that speaks other versions only says so', async () => {
    const client = new Client(me)
    const error = { code: -32022, message: 'no', data: { supported: ['2030-01-01'], requested: '2026-07-28' } }
    const transport = await serving(({ id }, res) => json(res, { id, error }, 400))
    await expect(client.connect(modern()(transport) as never)).rejects.toMatchObject({ code: -32022 })
  })

  test('a server that is down is no server of sessions', async () => {
    const client = new Client(me)
    const down = new StreamableHTTPClientTransport(new URL('http://127.0.0.1:1/'), { fetch: modernFetch() })
    await expect(client.connect(modern()(down) as never)).rejects.toThrow('fetch failed')
  })

  test('a subscription whose stream ends is opened again', async () => {
    let listens = 0
    const client = new Client(me)
    const changing = { ...discovered, capabilities: { tools: { listChanged: true } } }
    const transport = await serving(({ id, method, params }, res) => {
      if (method === 'server/discover') return json(res, { id, result: changing })
      expect([method, params.notifications]).toEqual(['subscriptions/listen', { toolsListChanged: true }])
      listens++
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
      const say = (message: string) =>
        `data: ${JSON.stringify({ jsonrpc: '2.0', method: message, params: { _meta, notifications: params.notifications } })}\n\n`
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(say('notifications/subscriptions/acknowledged'))
      if (listens === 1) res.end()
      else res.write(say('notifications/tools/list_changed'))
    })
    const changed = new Promise<void>((resolve) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
    )
    await client.connect(modern()(transport))
    await changed
    expect(listens).toBe(2)
    await client.close()
  })
})

test('the time for a process is one', () => {
  expect(() => modern({ probeMs: Number.NaN })).toThrow('"probeMs" must be a number of milliseconds above 0.')
})

test('a question that a server of the stateless revision pushes reaches nobody, and is told', async () => {
  const transport = new FakeTransport()
  const above = new Above(modern()(transport))
  void above.send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', clientInfo: me } })
  await settled()
  transport.say({ id: transport.sent[0]?.id, result: { supportedVersions: ['2026-07-28'], capabilities: {} } })
  transport.say({ id: 7, method: 'elicitation/create', params: { message: 'Your password?' } })
  transport.say({ id: 8, method: `\u001b[2J${'x'.repeat(1_000_000)}` })
  expect(above.heard).toMatchObject([{ id: 1, result: { capabilities: {} } }])
  expect(above.faults).toMatchObject([{ code: 'REQUEST_UNRELATED' }, { code: 'REQUEST_UNRELATED' }])
  expect(above.faults[1]?.message).not.toContain('\u001b')
  expect(above.faults[1]?.message.length).toBeLessThan(200)
  expect(transport.sent).toHaveLength(1)
})

test('a listening stream that ends with its answer ends once', async () => {
  const transport = new FakeTransport()
  const above = new Above(modern()(transport))
  const capabilities = { tools: { listChanged: true } }
  void above.send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', clientInfo: me } })
  await settled()
  transport.say({ id: transport.sent[0]?.id, result: { supportedVersions: ['2026-07-28'], capabilities } })
  await above.send({ method: 'notifications/initialized' })
  await settled()
  expect(transport.sent[1]).toMatchObject({ method: 'subscriptions/listen' })
  transport.say({ id: transport.sent[1]?.id, result: {} })
  Reflect.apply(transport.options[1]?.['onRequestStreamEnd'] as () => void, undefined, [])
  expect(above.heard).toMatchObject([{ id: 1 }])
})

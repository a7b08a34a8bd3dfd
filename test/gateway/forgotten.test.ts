/** Sessions that servers forget, in the words of different servers, and verdicts that turn out to be wrong. */
import { createServer as createHost, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createServer } from 'pannier/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { call, connectClient, startGateway } from './fixtures/gateways.ts'
import { ask } from './fixtures/statelessRequest.ts'

interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly name?: string; readonly uri?: string }
}

/** How a server refuses a session that it does not know. */
type Refusal = readonly [status: number, body: string]

interface Wording {
  sessions: boolean
  /** What is said to requests without a valid session. */
  readonly refusal: Refusal
  version: string
  /** How the tool "fail" answers, with the id of the request. */
  readonly failure?: readonly [status: number, sentence: string]
}

/** A server of the session era, word by word. */
async function wordedServer(state: Wording, port = 0) {
  let current = 0
  const slow: (() => void)[] = []
  const calls: string[] = []
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (req.method !== 'POST') return void res.writeHead(req.method === 'DELETE' ? 200 : 405).end()
    const { id, method, params } = JSON.parse(await text(req)) as Message
    const reply = (result: object, headers: object = {}, status = 200): void => {
      res.writeHead(status, { 'content-type': 'application/json', ...headers })
      res.end(JSON.stringify({ jsonrpc: '2.0', id, ...result }))
    }
    const session = state.sessions ? { 'mcp-session-id': `s${current}` } : {}
    if (method === 'server/discover') return reply({ error: { code: -32601, message: 'Method not found' } })
    if (method === 'initialize') {
      const serverInfo = { name: 'worded', version: state.version }
      return reply(
        { result: { protocolVersion: '2025-06-18', capabilities: { tools: {}, resources: {} }, serverInfo } },
        session,
      )
    }
    if (state.sessions && req.headers['mcp-session-id'] !== `s${current}`) {
      const [status, body] = state.refusal
      return void res.writeHead(status, { 'content-type': 'application/json' }).end(body)
    }
    if (id === undefined) return void res.writeHead(202).end()
    if (method === 'tools/list') return reply({ result: { tools: ['go', 'fail', 'slow'].map(tool) } })
    if (method === 'resources/list') return reply({ result: { resources: [{ uri: 'item://gone', name: 'gone' }] } })
    if (method === 'resources/templates/list') return reply({ result: { resourceTemplates: [] } })
    if (method === 'resources/read') return reply({ error: { code: -32002, message: 'Resource not found' } }, {}, 404)
    calls.push(params?.name ?? method)
    const [status, message] = state.failure ?? [200, 'Session not found']
    if (params?.name === 'fail') return reply({ error: { code: -32000, message } }, {}, status)
    if (params?.name === 'slow') await new Promise<void>((resolve) => slow.push(resolve))
    reply({ result: { content: [{ type: 'text', text: 'went' }] } })
  }
  const host = createHost((req, res) => void answer(req, res))
  await new Promise<void>((resolve) => host.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => {
    host.close()
    host.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp`
  return { url, calls, slow, forget: () => current++ }
}

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } })
const rpc = (code: number, message: string, id: unknown = null) =>
  JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id })

test.each<Refusal>([
  [404, rpc(-32001, 'Session not found')],
  [404, ''],
  [410, 'Gone'],
  [400, rpc(-32000, 'Bad Request: No valid session ID provided')],
  [400, rpc(-32000, 'Bad Request: Mcp-Session-Id header is required')],
  [400, rpc(-32600, 'Bad Request: Missing session ID', 'server-error')],
  [400, rpc(-32600, 'Session not found or expired', 2)],
  [400, 'Invalid session ID'],
  [400, 'Invalid or missing session ID'],
  [400, rpc(-32000, 'Bad Request: Server not initialized')],
  [401, 'Unauthorized: Session not found'],
])('a session is opened anew, and the call made once, where the server says %i %s', async (...refusal) => {
  const server = await wordedServer({ sessions: true, refusal, version: '1' })
  const { url } = await startGateway({ a: { url: server.url } })
  const client = await connectClient('v2', url, {}, {})
  expect(await call(client, 'a_go')).toBe('went')
  server.forget()
  expect(await call(client, 'a_go')).toBe('went')
  expect(server.calls.filter((name) => name === 'go')).toHaveLength(2)
})

test.each<Refusal>([
  [400, rpc(-32602, 'Bad Request: the argument is wrong')],
  [500, 'Session not found'],
])('a call is not repeated where the server says %i %s', async (...refusal) => {
  const server = await wordedServer({ sessions: true, refusal, version: '1' })
  const { url } = await startGateway({ a: { url: server.url } })
  const client = await connectClient('v2', url, {}, {})
  await call(client, 'a_go')
  server.forget()
  await expect(call(client, 'a_go')).rejects.toThrow()
})

test('an error of a tool that has these words is the answer, and the call is not repeated', async () => {
  const server = await wordedServer({ sessions: true, refusal: [404, ''], version: '1' })
  const { url } = await startGateway({ a: { url: server.url } })
  const client = await connectClient('v2', url, {}, {})
  await expect(call(client, 'a_fail')).rejects.toThrow('Session not found')
  expect(server.calls).toEqual(['fail'])
})

test.each([
  [400, 'Paid. The receipt was not mailed: SMTP session closed.'],
  [404, 'Order not found'],
  [410, 'Order is gone'],
  [400, 'Bad Request: Session expired'],
  [404, 'Session not found'],
] as const)('an error with the id of the call is its answer, though it says %i %s', async (...failure) => {
  const server = await wordedServer({ sessions: true, refusal: [404, ''], version: '1', failure })
  const { url } = await startGateway({ a: { url: server.url, pannier: { state: 'stateful' } } })
  const client = await connectClient('v2', url, {}, {})
  await expect(call(client, 'a_fail')).rejects.toThrow(failure[1])
  expect(server.calls).toEqual(['fail'])
})

test('a session whose end is told with the id of the call is opened anew for the next one', async () => {
  const server = await wordedServer({
    sessions: true,
    refusal: [404, rpc(-32001, 'Session not found', 3)],
    version: '1',
  })
  const { url } = await startGateway({ a: { url: server.url, pannier: { state: 'stateful' } } })
  const client = await connectClient('v2', url, {}, {})
  expect(await call(client, 'a_go')).toBe('went') // the third message of its session is the next call
  server.forget()
  await expect(call(client, 'a_go')).rejects.toThrow('Session not found')
  expect(await call(client, 'a_go')).toBe('went')
})

test.each(['stateless', 'auto'])(
  'a 404 to one caller ends no call of another where there is no session: %s',
  async (state) => {
    const server = await wordedServer({ sessions: false, refusal: [404, ''], version: '1' })
    const { url, gateway } = await startGateway({ a: { url: server.url, pannier: { state } } })
    await gateway.judged()
    const [backend = expect.fail()] = gateway.backends
    const { link } = backend.connector
    const slow = connectClient('v2', url, {}, {}).then((client) => call(client, 'a_slow'))
    await vi.waitFor(() => expect(server.slow).toHaveLength(1))
    const meta = { 'io.modelcontextprotocol/clientCapabilities': {} }
    const read = await ask(url, { method: 'resources/read', params: { uri: 'item://gone' }, meta })
    expect(read.error).toMatchObject({ code: -32002 })
    expect(backend.connector.link).toBe(link)
    expect(link?.isClosed).toBe(false)
    server.slow[0]?.()
    expect(await slow).toBe('went')
  },
)

test('calls under way go on when a link of several callers is given up', async () => {
  const state = { sessions: false, refusal: [400, 'Missing session ID'] as const, version: '1' }
  const server = await wordedServer(state)
  const { url, gateway } = await startGateway({ a: { url: server.url, pannier: { state: 'stateless' } } })
  await gateway.judged()
  const client = await connectClient('v2', url, {}, {})
  const slow = call(client, 'a_slow')
  await vi.waitFor(() => expect(server.slow).toHaveLength(1))
  state.sessions = true
  expect(await call(client, 'a_go')).toBe('went')
  server.slow[0]?.()
  expect(await slow).toBe('went')
})

test('a server thought stateless that wants a session gets one for each caller, and is probed again', async () => {
  const state = { sessions: false, refusal: [400, 'Missing session ID'] as const, version: '1' }
  const server = await wordedServer(state)
  const { url, gateway } = await startGateway({ a: { url: server.url } })
  await gateway.judged()
  const [backend = expect.fail()] = gateway.backends
  const client = await connectClient('v2', url, {}, {})
  expect(await call(client, 'a_go')).toBe('went')
  expect(backend.isShared).toBe(true)
  const checkedAt = backend.prober.verdict?.checkedAt ?? 0
  state.sessions = true
  expect(await call(client, 'a_go')).toBe('went')
  await vi.waitFor(() => expect(backend.isShared).toBe(false))
  await vi.waitFor(() => expect(backend.prober.verdict?.checkedAt).toBeGreaterThan(checkedAt))
  expect(server.calls.filter((name) => name === 'go')).toHaveLength(2)
})

test('another version of a server is probed again', async () => {
  const state = { sessions: true, refusal: [404, ''] as const, version: '1' }
  const server = await wordedServer(state)
  const { gateway } = await startGateway({ a: { url: server.url, pannier: { listSeconds: 0.1 } } })
  await gateway.judged()
  const [backend = expect.fail()] = gateway.backends
  const checkedAt = backend.prober.verdict?.checkedAt ?? 0
  expect(backend.prober.ageSeconds).toBeGreaterThanOrEqual(0)
  state.version = '2'
  server.forget() // the next reading of the lists finds that
  await vi.waitFor(() => expect(backend.connector.about?.info?.version).toBe('2'))
  await vi.waitFor(() => expect(backend.prober.verdict?.checkedAt).toBeGreaterThan(checkedAt))
})

test('a caller who is served by another version than the gateway shows that it was upgraded', async () => {
  const state = { sessions: true, refusal: [404, ''] as const, version: '1' }
  const server = await wordedServer(state)
  const { url, gateway } = await startGateway({ a: { url: server.url } })
  await gateway.judged()
  const [backend = expect.fail()] = gateway.backends
  const checkedAt = backend.prober.verdict?.checkedAt ?? 0
  state.version = '2'
  // The gateway's own session is not used: only that of a new caller tells.
  expect(await call(await connectClient('v1', url), 'a_go')).toBe('went')
  await vi.waitFor(() => expect(backend.connector.about?.info?.version).toBe('2'))
  await vi.waitFor(() => expect(backend.prober.verdict?.checkedAt).toBeGreaterThan(checkedAt))
})

test('a server thought to keep something that gives out no sessions any more is shared', async () => {
  const state = { sessions: true, refusal: [400, 'Missing session ID'] as const, version: '1' }
  const server = await wordedServer(state)
  const { url, gateway } = await startGateway({ a: { url: server.url } })
  await gateway.judged()
  const [backend = expect.fail()] = gateway.backends
  expect(backend).toMatchObject({ isShared: false, keepsState: true })
  state.sessions = false
  expect(await call(await connectClient('v1', url), 'a_go')).toBe('went')
  await vi.waitFor(() => expect(backend).toMatchObject({ isShared: true, keepsState: false }))
  expect(await call(await connectClient('v2', url), 'a_go')).toBe('went')
})

test.each(['/mcp', '/mcp/a'])(
  'a server that has become one of the session era is found out at %s, and serves the call',
  async (path) => {
    const modern = createServer({ name: 'ours', version: '1', keys: KEYS, logger: quiet })
    modern.tool('go', { description: 'Goes.' }, () => 'went')
    const { port, url: address } = await modern.listen({ drainOnTerm: false })
    const { url, gateway } = await startGateway({ a: { url: address } })
    await gateway.judged()
    const [backend = expect.fail()] = gateway.backends
    expect(backend.connector.about?.version).toBe('2026-07-28')
    await modern.drain({ deadlineMs: 0 })
    const old = await wordedServer(
      { sessions: true, refusal: [400, rpc(-32_000, 'Bad Request: Server not initialized')], version: '1' },
      port,
    )
    expect(old.url).toBe(address)
    await vi.waitFor(async () => {
      const { result } = await ask(new URL(path, url).href, {
        params: { name: path === '/mcp' ? 'a_go' : 'go', arguments: {} },
      })
      expect(result).toMatchObject({ content: [{ text: 'went' }] })
    })
    await vi.waitFor(() => expect(backend.connector.about?.version).toBe('2025-06-18'))
    await vi.waitFor(() => expect(backend.prober.verdict?.state).toBe('STATEFUL'))
  },
)

/** Sessions that servers forget, in the words of different servers, and verdicts that turn out to be wrong. */
import { createServer as createHost, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { call, connectClient, startGateway } from './fixtures/gateways.ts'

interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly name?: string }
}

/** How a server refuses a session that it does not know. */
type Refusal = readonly [status: number, body: string]

/** A server of the session era, word by word. `state.refusal` says what is said to requests without a valid session. */
async function wordedServer(state: { sessions: boolean; refusal: Refusal; version: string }) {
  let current = 0
  const calls: string[] = []
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (req.method !== 'POST') return void res.writeHead(req.method === 'DELETE' ? 200 : 405).end()
    const { id, method, params } = JSON.parse(await text(req)) as Message
    const reply = (result: object, headers: object = {}): void => {
      res.writeHead(200, { 'content-type': 'application/json', ...headers })
      res.end(JSON.stringify({ jsonrpc: '2.0', id, ...result }))
    }
    const session = state.sessions ? { 'mcp-session-id': `s${current}` } : {}
    if (method === 'server/discover') return reply({ error: { code: -32601, message: 'Method not found' } })
    if (method === 'initialize') {
      const serverInfo = { name: 'worded', version: state.version }
      return reply({ result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } }, session)
    }
    if (state.sessions && req.headers['mcp-session-id'] !== `s${current}`) {
      const [status, body] = state.refusal
      return void res.writeHead(status, { 'content-type': 'application/json' }).end(body)
    }
    if (id === undefined) return void res.writeHead(202).end()
    if (method === 'tools/list') return reply({ result: { tools: ['go', 'fail'].map(tool) } })
    calls.push(params?.name ?? method)
    if (params?.name === 'fail') return reply({ error: { code: -32000, message: 'Session not found' } })
    reply({ result: { content: [{ type: 'text', text: 'went' }] } })
  }
  const host = createHost((req, res) => void answer(req, res))
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    host.close()
    host.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp`
  return { url, calls, forget: () => current++ }
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

test('a server thought stateless that wants a session gets one for each caller, and is probed again', async () => {
  const state = { sessions: false, refusal: [400, 'Missing session ID'] as const, version: '1' }
  const server = await wordedServer(state)
  const { url, gateway } = await startGateway({ a: { url: server.url } })
  await gateway.judged()
  const [backend = expect.fail()] = gateway.backends
  const client = await connectClient('v2', url, {}, {})
  expect(await call(client, 'a_go')).toBe('went')
  expect(backend.isShared).toBe(true)
  const checkedAt = backend.verdict?.checkedAt ?? 0
  state.sessions = true
  expect(await call(client, 'a_go')).toBe('went')
  await vi.waitFor(() => expect(backend.isShared).toBe(false))
  await vi.waitFor(() => expect(backend.verdict?.checkedAt).toBeGreaterThan(checkedAt))
  expect(server.calls.filter((name) => name === 'go')).toHaveLength(2)
})

test('another version of a server is probed again', async () => {
  const state = { sessions: true, refusal: [404, ''] as const, version: '1' }
  const server = await wordedServer(state)
  const { gateway } = await startGateway({ a: { url: server.url, pannier: { listSeconds: 0.1 } } })
  await gateway.judged()
  const [backend = expect.fail()] = gateway.backends
  const checkedAt = backend.verdict?.checkedAt ?? 0
  expect(backend.verdictAgeSeconds).toBeGreaterThanOrEqual(0)
  state.version = '2'
  server.forget() // the next reading of the lists finds that
  await vi.waitFor(() => expect(backend.about?.info?.version).toBe('2'))
  await vi.waitFor(() => expect(backend.verdict?.checkedAt).toBeGreaterThan(checkedAt))
})

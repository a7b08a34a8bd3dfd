/** Sessions over Streamable HTTP, as the gateway holds them with servers that do what the specification allows, and worse. */
import { setTimeout as pause } from 'node:timers/promises'
import type { OAuthTokens } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Authorizer } from 'pannier/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { hostUntil } from '../fixtures/until.ts'
import { call, connectClient, startGateway } from './fixtures/gateways.ts'
import { event, json, said, type SessionScript, sessionScript, stream } from './fixtures/sessionScript.ts'

const PATIENCE = { timeout: 15_000 }
const STATEFUL = { state: 'stateful' }
const FORM = { type: 'object', properties: {} }

async function behindGateway(script: SessionScript, pannier: object = STATEFUL) {
  const server = await sessionScript(script)
  const { url, gateway } = await startGateway({ a: { url: server.url, headers: { 'X-Own': 'mine' }, pannier } })
  return { server, gateway, url, client: await connectClient('v2', url) }
}

test('a session is begun without an id, and its id and revision go with everything after', async () => {
  const { server, client, gateway } = await behindGateway({})
  expect(await call(client, 'a_go')).toBe('went')
  await gateway.drain({ deadlineMs: 0 })
  const begun = server.of('POST', 'initialize')
  expect(begun.map(({ headers }) => headers['mcp-session-id'])).toEqual(begun.map(() => undefined))
  const after = server.seen.filter(({ message }) => !['initialize', 'server/discover'].includes(message.method ?? ''))
  expect(new Set(after.map(({ method }) => method))).toEqual(new Set(['POST', 'GET', 'DELETE']))
  for (const { headers } of after) {
    expect(headers['mcp-session-id']).toMatch(/^s\d$/)
    expect(headers['mcp-protocol-version']).toBe('2025-06-18')
    expect(headers['x-own']).toBe('mine')
    expect(headers['user-agent']).toMatch(/^pannier-gateway\/\d/)
    expect(headers['accept-encoding']).toBe('identity')
  }
  expect(server.of('POST', 'tools/call')[0]?.headers).toMatchObject({
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  })
  expect(server.of('GET')[0]?.headers['accept']).toBe('text/event-stream')
  const ended = server.of('DELETE').map(({ headers }) => headers['mcp-session-id'])
  expect(new Set(ended)).toEqual(new Set(begun.map((_, at) => `s${at + 1}`)))
})

test('an answer is read from JSON, from an event, and from an event whose bytes come one by one', async () => {
  const words = 'größer als 5 € 🎻'
  const { client } = await behindGateway({
    async call(request, res) {
      const { id, params } = request.message
      const way = params?.arguments?.['way']
      if (way === 'json') return json(res, request, said(words))
      const bytes = Buffer.from(event({ id, result: said(words) }).replaceAll('\n', way === 'crlf' ? '\r\n' : '\n'))
      stream(res)
      if (way === 'event') return res.end(bytes)
      for (const byte of bytes) {
        res.write(Buffer.of(byte))
        await pause(0)
      }
      res.end()
    },
  })
  for (const way of ['json', 'event', 'bytes', 'crlf']) expect(await call(client, 'a_go', { way }), way).toBe(words)
})

test('a byte order mark, with which writers of some platforms begin, is none of the answer', async () => {
  const { client } = await behindGateway({
    call({ message: { id, params } }, res) {
      const result = said('went')
      if (params?.arguments?.['way'] === 'event') return stream(res).end(`\ufeff${event({ id, result })}`)
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(`\ufeff${JSON.stringify({ jsonrpc: '2.0', id, result })}`)
    },
  })
  for (const way of ['json', 'event']) expect(await call(client, 'a_go', { way }), way).toBe('went')
})

test('a revision that cannot stand in a header is told, and the server is not used', async () => {
  const { server, gateway } = await behindGateway({
    first(request, res) {
      if (request.message.method !== 'initialize') return false
      json(res, request, { protocolVersion: '2025-06-18 \u20ac', capabilities: { tools: {} }, serverInfo: {} }, 's1')
      return true
    },
  })
  expect(JSON.stringify(gateway.report().health['warnings'])).toContain(
    'names a revision of the protocol that is none.',
  )
  expect(server.of('POST', 'tools/list')).toEqual([])
})

test('a question comes on the stream of its call, and its answer goes with a POST', async () => {
  const { server, client } = await behindGateway({
    first({ message }, res) {
      if (message.result === undefined) return false
      waiting?.end(event({ id: callId, result: said(JSON.stringify(message.result)) }))
      res.writeHead(202).end()
      return true
    },
    call({ message }, res) {
      callId = message.id
      const requestedSchema = { type: 'object', properties: {} }
      const asked = { id: 'q1', method: 'elicitation/create', params: { message: 'Sure?', requestedSchema } }
      waiting = stream(res, event(asked))
    },
  })
  let callId: number | string | undefined
  let waiting: ReturnType<typeof stream> | undefined
  expect(JSON.parse(await call(client, 'a_go'))).toEqual({ action: 'accept', content: { sure: true } })
  expect(server.seen.some(({ message }) => message.id === 'q1' && message.result !== undefined)).toBe(true)
})

test('the answer to a question, and the end of a handshake, are sent again when their connection is cut', async () => {
  const cut = new Set<string>()
  const requestedSchema = { type: 'object', properties: {} }
  let asking: ReturnType<typeof stream> | undefined
  let waiting: ReturnType<typeof stream> | undefined
  let callId: number | string | undefined
  const { client } = await behindGateway({
    first({ message, headers }, res) {
      const needsAnswer = message.id !== undefined && message.method !== undefined
      const session = headers['mcp-session-id']?.toString()
      const name = `${message.method ?? 'answer'} in ${session}`
      if (needsAnswer || session === undefined || message.jsonrpc === undefined) return false
      if (!cut.has(name)) {
        cut.add(name)
        res.destroy()
        return true
      }
      if (message.result === undefined) return false
      waiting?.end(event({ id: callId, result: said(JSON.stringify(message.result)) }))
      res.writeHead(202).end()
      return true
    },
    listen: (_, res) => {
      asking = stream(res)
    },
    call({ message }, res) {
      callId = message.id
      waiting = stream(res)
      asking?.write(event({ id: 'q1', method: 'elicitation/create', params: { message: 'Sure?', requestedSchema } }))
    },
  })
  expect(JSON.parse(await call(client, 'a_go'))).toEqual({ action: 'accept', content: { sure: true } })
  expect([...cut].map((name) => name.split(' ')[0])).toEqual(
    expect.arrayContaining(['notifications/initialized', 'answer']),
  )
})

test('a question that comes on the stream of a call is asked on the stream of that call, although others wait', async () => {
  const waiting = Promise.withResolvers<() => void>()
  const { server, url } = await behindGateway({
    call({ message: { id, params } }, res) {
      const end = (): void => void stream(res, event({ id, result: said('waited') })).end()
      if (params?.arguments?.['way'] === 'wait') return waiting.resolve(end)
      const ask = { id: 'q1', method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: FORM } }
      const open = stream(res, event(ask))
      void vi
        .waitFor(() => expect(server.seen.map(({ message }) => message.id)).toContain('q1'), PATIENCE)
        .then(() => open.end(event({ id, result: said('asked') })))
    },
  })
  const questions: Promise<void>[] = []
  const waited = Promise.withResolvers<void>()
  const client = new Client({ name: 'asked', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, async () => {
    questions.push(waited.promise)
    await waited.promise
    return { action: 'accept', content: {} }
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  onTestFinished(() => client.close())
  const first = client.callTool({ name: 'a_go', arguments: { way: 'wait' } })
  const end = await waiting.promise
  const second = client.callTool({ name: 'a_go', arguments: { way: 'ask' } })
  await vi.waitFor(() => expect(questions).toHaveLength(1), PATIENCE)
  end()
  expect(await first).toMatchObject(said('waited'))
  waited.resolve()
  expect(await second).toMatchObject(said('asked'))
  expect(questions).toHaveLength(1)
})

test('news come on the stream of the session, which is opened again after the last event when it ends', async () => {
  const tools = ['go']
  const { server, client } = await behindGateway({
    tools: () => tools,
    listen({ headers }, res) {
      if (headers['last-event-id'] !== undefined) {
        tools.push('late')
        return void stream(res, event({ method: 'notifications/tools/list_changed' }))
      }
      tools.push('early')
      stream(res).end(`retry: 100\n${event({ method: 'notifications/tools/list_changed' }, 'e7')}`)
    },
  })
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  await vi.waitFor(async () => expect(await names()).toEqual(expect.arrayContaining(['a_early', 'a_late'])), PATIENCE)
  expect(server.of('GET').some(({ headers }) => headers['last-event-id'] === 'e7')).toBe(true)
})

test('a call waits for the stream of its session where the server is only busy: what it sends before would be lost', async () => {
  const open = new Set<unknown>()
  const held: (() => void)[] = []
  const { server, url, client } = await behindGateway({
    listen({ headers }, res) {
      const session = headers['mcp-session-id']
      const begin = (): void => {
        open.add(session)
        stream(res)
      }
      if (session === 's2') held.push(begin)
      else begin()
    },
    call: (request, res) => json(res, request, said(String(open.has(request.headers['mcp-session-id'])))),
  })
  const waiting = call(client, 'a_go')
  await vi.waitFor(() => expect(held).toHaveLength(1), PATIENCE)
  // A session that was begun later has its stream and is called.
  expect(await call(await connectClient('v2 in a session', url), 'a_go')).toBe('true')
  expect(server.of('POST', 'tools/call').map(({ headers }) => headers['mcp-session-id'])).toEqual(['s3'])
  held[0]!()
  expect(await waiting).toBe('true')
})

test('a server that answers for the stream of a session with the first event only is not waited for long', async () => {
  const { client } = await behindGateway({ listen: () => {} })
  const began = performance.now()
  expect(await call(client, 'a_go')).toBe('went')
  expect(performance.now() - began).toBeLessThan(5000)
})

test('an event whose id cannot stand in a header ends its call, and nothing else', async () => {
  const { client } = await behindGateway({
    call(request, res) {
      if (request.message.params?.arguments?.['odd'] !== true) return json(res, request, said('went'))
      stream(res, 'retry: 100\nid: 5 \u20ac\ndata:\n\n').end()
    },
  })
  await expect(call(client, 'a_go', { odd: true })).rejects.toThrow('The server "a" has ended its stream')
  expect(await call(client, 'a_go')).toBe('went')
})

test('the stream of the session is tried again when the server says 503, 409 or 429', async () => {
  const triedAgain = async (status: number): Promise<void> => {
    let tries = 0
    const tools = ['go']
    const { client } = await behindGateway({
      tools: () => tools,
      listen(_, res) {
        if (++tries === 1) return void res.writeHead(status).end()
        tools.push('more')
        stream(res, event({ method: 'notifications/tools/list_changed' }))
      },
    })
    const names = async () => (await client.listTools()).tools.map(({ name }) => name)
    await vi.waitFor(async () => expect(await names(), `${status}`).toContain('a_more'), PATIENCE)
  }
  await Promise.all([503, 409, 429].map(triedAgain))
})

test('the stream of the session is not asked for again when the server says 405, 404 or 400', async () => {
  const refuse = (status: number) => behindGateway({ listen: (_, res) => res.writeHead(status).end() })
  const refusing = await Promise.all([405, 404, 400].map(refuse))
  for (const { server } of refusing) await vi.waitFor(() => expect(server.of('GET')).toHaveLength(1), PATIENCE)
  const { server: busy } = await refuse(503)
  await vi.waitFor(() => expect(busy.of('GET')).toHaveLength(2), PATIENCE)
  for (const { server } of refusing) expect(server.of('GET')).toHaveLength(1)
})

test.each(['ends', 'breaks off'])('a response goes on after its last event when its stream %s', async (how) => {
  let id: number | string | undefined
  const { server, client } = await behindGateway({
    call({ message }, res) {
      id = message.id
      stream(res).write('retry: 100\nid: e1\ndata:\n\n', () => (how === 'ends' ? res.end() : res.destroy()))
    },
    listen({ headers }, res) {
      const last = headers['last-event-id']
      if (last === undefined) return void res.writeHead(405).end()
      if (last === 'e1') return void stream(res).end('id: e2\ndata:\n\n')
      stream(res).end(event({ id, result: said('went on') }, 'e3'))
    },
  })
  expect(await call(client, 'a_go')).toBe('went on')
  const resumed = server.of('GET').flatMap(({ headers }) => headers['last-event-id'] ?? [])
  expect(resumed).toEqual(['e1', 'e2'])
  expect(server.of('POST', 'tools/call')).toHaveLength(1)
})

test.each([
  ['names no event', '', 405, 0],
  ['has no stream to go on with', 'retry: 100\nid: e1\ndata:\n\n', 405, 1],
  ['does not know the event', 'retry: 100\nid: e1\ndata:\n\n', 400, 1],
  ['fails twice to go on', 'retry: 100\nid: e1\ndata:\n\n', 500, 2],
] as const)('a call is lost when its stream ends and the server %s', async (_, begin, status, attempts) => {
  const { server, client } = await behindGateway({
    call: (__, res) => stream(res).write(begin || ':\n\n', () => res.end()),
    listen: ({ headers }, res) => res.writeHead(headers['last-event-id'] === undefined ? 405 : status).end(),
  })
  await expect(call(client, 'a_go')).rejects.toThrow(
    'The server "a" has ended its stream before it answered. What the call does may have happened.',
  )
  expect(server.of('GET').filter(({ headers }) => headers['last-event-id'] !== undefined)).toHaveLength(attempts)
  expect(server.of('POST', 'tools/call')).toHaveLength(1)
})

test('a response that comes on the stream of the session is taken, and a call that is over is not gone on with', async () => {
  let news: ReturnType<typeof stream> | undefined
  const { server, client } = await behindGateway(
    {
      call({ message: { id, params } }, res) {
        const { way, last = 'e0' } = (params?.arguments ?? {}) as { way?: string; last?: string }
        stream(res).end(`retry: 100\nid: ${last}\ndata:\n\n`)
        if (way === 'news') news?.write(event({ id, result: said('elsewhere') }))
      },
      listen({ headers }, res) {
        const last = headers['last-event-id']?.toString()
        if (last === undefined) news = stream(res)
        else stream(res).end(`id: ${last}\ndata:\n\n`)
      },
    },
    { ...STATEFUL, timeoutSeconds: 3 },
  )
  expect(await call(client, 'a_go', { way: 'news' })).toBe('elsewhere')
  const resumed = (last: string) => server.of('GET').filter(({ headers }) => headers['last-event-id'] === last).length
  await expect(call(client, 'a_go', { last: 'e1' })).rejects.toThrow('has not answered within 3 seconds')
  const next = call(client, 'a_go', { last: 'e2' })
  next.catch(() => {})
  await vi.waitFor(() => expect(resumed('e2')).toBeGreaterThan(1), PATIENCE) // one of the former may have been under way
  const before = resumed('e1')
  expect(before).toBeGreaterThan(2)
  await expect(next).rejects.toThrow('has not answered within 3 seconds')
  expect(resumed('e2')).toBeGreaterThan(4)
  expect(resumed('e1')).toBe(before)
})

test.each([
  ['another id', (id: unknown) => JSON.stringify({ jsonrpc: '2.0', id: `not ${String(id)}`, result: {} })],
  ['no message', () => '{"hello": 1}'],
  ['half a message', () => '{"jsonrpc":'],
])('a JSON response with %s ends the call, long before its time limit', async (_, body) => {
  const { client } = await behindGateway({
    call: ({ message }, res) => res.writeHead(200, { 'content-type': 'application/json' }).end(body(message.id)),
  })
  await expect(call(client, 'a_go')).rejects.toThrow(/The server "a" .* may have happened\./)
})

test.each([
  [500, 'The server "a" gave no answer: it answered HTTP 500. If it got the call, what that does may have happened.'],
  [403, 'The server "a" refuses the credentials it was sent.'],
  [401, 'The server "a" refuses the credentials it was sent.'],
])('callers hear of HTTP %i in the words of other links', async (status, sentence) => {
  const { client } = await behindGateway({ call: (_, res) => res.writeHead(status).end('no') })
  await expect(call(client, 'a_go')).rejects.toThrow(sentence)
})

test('an error in a response whose status is an error is that of the call', async () => {
  const { client } = await behindGateway({
    call: ({ message: { id } }, res) =>
      res.writeHead(422).end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32050, message: 'Not today.' } })),
  })
  await expect(call(client, 'a_go')).rejects.toThrow('Not today.')
})

test('a connection that is cut before the response ends the call with the reason', async () => {
  const { client } = await behindGateway({ call: (_, res) => res.destroy() })
  await expect(call(client, 'a_go')).rejects.toThrow(
    'The server "a" gave no answer: the connection was cut. If it got the call, what that does may have happened.',
  )
})

test.each([307, 308])('a redirect with %i within the origin is followed by every kind of request', async (status) => {
  const { server, client, gateway } = await behindGateway({
    first({ path, message }, res) {
      if (path === '/mcp/' || message.method === 'server/discover') return false
      res.writeHead(status, { location: '/mcp/' }).end()
      return true
    },
  })
  expect(await call(client, 'a_go')).toBe('went')
  await gateway.drain({ deadlineMs: 0 })
  const moved = server.seen.filter(({ path }) => path === '/mcp/')
  expect(new Set(moved.map(({ method }) => method))).toEqual(new Set(['POST', 'GET', 'DELETE']))
  expect(moved.filter(({ message }) => message.method === 'tools/call')).toHaveLength(1)
})

test('a redirect to another origin is not followed, and one without an end only for a while', async () => {
  const other = await hostUntil((_, res) => res.end())
  let reached = 0
  other.server.on('connection', () => reached++)
  const { server, client } = await behindGateway({
    call: ({ message }, res) => {
      const isAway = message.params?.arguments?.['to'] === 'away'
      res.writeHead(307, { location: isAway ? other.url : '/mcp' }).end()
    },
  })
  await expect(call(client, 'a_go', { to: 'away' })).rejects.toThrow('it answered HTTP 307.')
  expect(reached).toBe(0)
  await expect(call(client, 'a_go', { to: 'itself' })).rejects.toThrow('it answered HTTP 307.')
  expect(server.of('POST', 'tools/call').length).toBeLessThan(8)
})

test('a server may answer what needs no answer with any success, and need not let sessions be ended', async () => {
  const { client, gateway } = await behindGateway({
    first({ method, message }, res) {
      if (method === 'DELETE') return Boolean(res.writeHead(405).end())
      if (message.method === 'notifications/initialized') return Boolean(res.writeHead(204).end())
      return false
    },
    listen: (_, res) => stream(res),
  })
  expect(await call(client, 'a_go')).toBe('went')
  await gateway.drain({ deadlineMs: 0 })
})

test('closing ends every stream, also of a server that does not end them', async () => {
  let open = 0
  const { server, gateway } = await behindGateway({
    listen(_, res) {
      open++
      stream(res).on('close', () => open--)
    },
  })
  await vi.waitFor(() => expect(open).toBe(1), PATIENCE)
  await gateway.drain({ deadlineMs: 0 })
  await vi.waitFor(() => expect(open).toBe(0), PATIENCE)
  expect(server.of('GET')).toHaveLength(1)
})

test('a server that does not answer the end of its session holds nobody up for long', async () => {
  const { gateway } = await behindGateway({ first: ({ method }) => method === 'DELETE' })
  const since = performance.now()
  await gateway.drain({ deadlineMs: 0 })
  expect(performance.now() - since).toBeLessThan(10_000)
})

test('a server at an address of IPv6 is reached', async () => {
  const { client } = await behindGateway({ host: '::1' })
  expect(await call(client, 'a_go')).toBe('went')
})

test('a token that has expired is refreshed in the middle of a session, and the call is made once', async () => {
  let valid = 'token1'
  let stored: OAuthTokens = { access_token: 'token1', token_type: 'Bearer', refresh_token: 'refresh1' }
  const server = await sessionScript({
    first({ path, headers, method }, res) {
      const answer = (status: number, body: object, more: object = {}): boolean =>
        Boolean(res.writeHead(status, { 'content-type': 'application/json', ...more }).end(JSON.stringify(body)))
      if (path.startsWith('/.well-known/oauth-protected-resource'))
        return answer(200, { resource: server.url, authorization_servers: [server.origin] })
      if (path.startsWith('/.well-known/')) return answer(200, metadataOf(server.origin))
      if (path === '/token') {
        valid = 'token2'
        return answer(200, { access_token: valid, token_type: 'Bearer', refresh_token: 'refresh2' })
      }
      if (headers.authorization === `Bearer ${valid}`) return false
      const known = `${server.origin}/.well-known/oauth-protected-resource/mcp`
      expect(method).toBe('POST')
      return answer(401, {}, { 'www-authenticate': `Bearer resource_metadata="${known}"` })
    },
    call: ({ message: { id } }, res) => stream(res).end(event({ id, result: said('went') })),
  })
  const authorizer: Authorizer = {
    redirectUrl: 'http://127.0.0.1/login',
    clientMetadata: { redirect_uris: ['http://127.0.0.1/login'] },
    clientInformation: () => ({ client_id: 'me' }),
    tokens: () => stored,
    saveTokens: (tokens) => void (stored = tokens),
    redirectToAuthorization: () => expect.unreachable(),
    saveCodeVerifier: () => {},
    codeVerifier: () => '',
  }
  const entry = { a: { url: server.url, pannier: STATEFUL } }
  const { url, gateway } = await startGateway(entry, { authorizer: () => authorizer })
  const client = await connectClient('v2', url)
  expect(await call(client, 'a_go')).toBe('went')
  valid = 'none'
  expect(await call(client, 'a_go')).toBe('went')
  expect(stored.access_token).toBe('token2')
  await gateway.drain({ deadlineMs: 0 })
  const calls = server.of('POST', 'tools/call').map(({ headers }) => headers.authorization)
  expect(calls).toEqual(['Bearer token1', 'Bearer token1', 'Bearer token2'])
  expect(server.of('DELETE')[0]?.headers.authorization).toBe('Bearer token2')
})

function metadataOf(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
  }
}

/** Requests of the stateless era at the address of one server: their bytes pass, and so do those of the answer. */
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { call, connectClient, modernServer, startGateway } from './fixtures/gateways.ts'
import { ask, type RequestParts, statelessRequest } from './fixtures/statelessRequest.ts'
import { json, ScriptedServer, sdkStatelessServer } from './fixtures/statelessServers.ts'

const PATIENCE = { timeout: 30_000 }
const principal = ({ header }: { header: (name: string) => string | undefined }) => {
  const id = header('authorization')?.replace('Bearer ', '')
  return id === undefined ? undefined : { id }
}

let url = ''
let gateway: Awaited<ReturnType<typeof startGateway>>['gateway']
let urls: Record<'ours' | 'sdk', string>
let states: Record<'ours' | 'sdk', unknown[]>
const scripted = new ScriptedServer()

beforeAll(async () => {
  const ends: (() => unknown)[] = []
  const until = (end: () => unknown): void => void ends.unshift(end)
  const [ours, sdk] = await Promise.all([modernServer(until), sdkStatelessServer(until), scripted.start(until)])
  urls = { ours: ours.url, sdk: sdk.url }
  states = { ours: ours.states, sdk: sdk.states }
  const servers = {
    ours: { url: ours.url, pannier: { state: 'stateless' } },
    sdk: { url: sdk.url, pannier: { state: 'stateless' } },
    scripted: scripted.entry(),
    personal: scripted.entry({}, { 'X-Caller': '${principal.id}', Authorization: 'Bearer of-the-gateway' }),
    some: scripted.entry({ tools: { deny: ['danger'] } }),
  }
  ;({ url, gateway } = await startGateway(servers, { principal: principal as never }, {}, until))
  return async () => {
    for (const end of ends) await end()
  }
})

describe.each(['ours', 'sdk'] as const)('the server %s', (server) => {
  test('is used by the official client: lists, calls, progress, questions, resources', async () => {
    const client = await connectClient('v2', `${url}/${server}`)
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('add')
    expect(await call(client, 'add', { a: 1, b: 2 })).toBe('3')
    expect(await call(client, 'confirm')).toContain('accept true')
    const seen: unknown[] = []
    const progress = { onprogress: (each: unknown) => seen.push(each) }
    if (server === 'sdk') expect(await call(client, 'steps', {}, progress)).toBe('done')
    else await call(client, 'confirm', {}, progress)
    expect(seen.length).toBeGreaterThan(0)
  })

  const same: Record<string, RequestParts> = {
    discover: { method: 'server/discover', params: {} },
    'a list': { method: 'tools/list', params: {} },
    'a result': { params: { name: 'add', arguments: { a: 1, b: 2 } } },
    'a result with an id of text': { id: 'ä "quoted"', params: { name: 'add', arguments: { a: 1, b: 2 } } },
    'an error of a tool': { params: { name: 'add', arguments: { a: 'no number' } } },
    'an unknown tool': { params: { name: 'nothing', arguments: {} } },
    'an unknown method': { method: 'things/do', params: {} },
    'a header that disagrees': { params: { name: 'add', arguments: { a: 1, b: 2 } }, headers: { 'mcp-name': 'other' } },
    'a resource': { method: 'resources/read', params: { uri: 'about://me' } },
    progress: {
      params: { name: server === 'sdk' ? 'steps' : 'add', arguments: { a: 1, b: 2 } },
      meta: { progressToken: 'p' },
    },
  }

  test.each(Object.entries(same))('answers %s through the gateway byte for byte as directly', async (_, parts) => {
    const [direct, passed] = await Promise.all(
      [urls[server], `${url}/${server}`].map(async (each) => {
        const response = await fetch(each, statelessRequest(parts))
        const type = response.headers.get('content-type')
        return [response.status, type, Buffer.from(await response.arrayBuffer())] as const
      }),
    )
    expect(passed).toEqual(direct)
  })

  test('ends its work when the caller leaves', async () => {
    states[server].length = 0
    const client = await connectClient('v2', `${url}/${server}`)
    const cancel = new AbortController()
    const waiting = call(client, 'wait', {}, { signal: cancel.signal })
    await vi.waitFor(() => expect(states[server]).toEqual(['waiting']), PATIENCE)
    cancel.abort()
    await expect(waiting).rejects.toThrow()
    await vi.waitFor(() => expect(states[server]).toEqual(['waiting', 'cancelled']), PATIENCE)
  })
})

test('what a server gets are the bytes that the caller sent, whatever they are', async () => {
  const body = '{ "jsonrpc": "2.0", "id": 1,\n "same": 1, "same": 2, "method": "tools/call" \u00e4 no JSON at all'
  scripted.answer = ({ res, body: got }) => json(res, got)
  const response = await fetch(`${url}/scripted`, { ...statelessRequest(), body })
  expect(await response.text()).toBe(body)
})

test.each(['', ' \r\n\t'])(
  'a batch does not reach the server, where it would be several requests, after %j',
  async (blanks) => {
    scripted.received.length = 0
    const { body, ...request } = statelessRequest()
    const response = await fetch(`${url}/scripted`, { ...request, body: `${blanks}[${body},${body}]` })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('This revision has no batches')
    expect(scripted.received).toEqual([])
  },
)

test('headers of the protocol and of traces reach the server, and nothing that tells who called', async () => {
  scripted.received.length = 0
  scripted.answer = ({ res, body }) => json(res, body, 200, { 'set-cookie': 'a=b', 'mcp-thing': 'x', 'x-own': 'y' })
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const headers = {
    authorization: 'Bearer ann',
    cookie: 'secret=1',
    'x-forwarded-for': '1.2.3.4',
    'x-other': 'z',
    'mcp-session-id': 'of-the-gateway',
    'mcp-param-region': 'eu',
    traceparent,
    tracestate: 'a=b',
    baggage: 'c=d',
  }
  const response = await fetch(`${url}/scripted`, statelessRequest({ headers }))
  expect(response.headers.get('mcp-thing')).toBe('x')
  expect([response.headers.get('set-cookie'), response.headers.get('x-own')]).toEqual([null, null])
  const { host, connection, 'content-length': _, ...got } = scripted.received[0]?.req.headers ?? {}
  expect(host).toBe(new URL(scripted.url).host)
  expect(connection).toBe('keep-alive')
  expect(got).toEqual({
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
    'content-type': 'application/json',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'thing',
    'mcp-param-region': 'eu',
    traceparent,
    tracestate: 'a=b',
    baggage: 'c=d',
    'pannier-via': expect.stringMatching(/^[\w-]{12}$/) as string,
  })
})

test("the entry's own headers are added for each caller, and a caller without a name is refused where they need one", async () => {
  scripted.received.length = 0
  scripted.answer = ({ res, body }) => json(res, body)
  for (const user of ['ann', 'bob']) await ask(`${url}/personal`, { headers: { authorization: `Bearer ${user}` } })
  const sent = scripted.received.map(({ req }) => [req.headers['x-caller'], req.headers.authorization])
  expect(sent).toEqual([
    ['ann', 'Bearer of-the-gateway'],
    ['bob', 'Bearer of-the-gateway'],
  ])
  expect(await ask(`${url}/personal`)).toMatchObject({ id: 7, error: { data: { code: 'BACKEND_REFUSED' } } })
  expect(scripted.received).toHaveLength(2)
})

test('where a rule needs the name of a tool the request is read, and a forged header does not help', async () => {
  scripted.received.length = 0
  scripted.answer = ({ res, body }) => json(res, body)
  const danger = { name: 'danger', arguments: {} }
  expect((await ask(`${url}/some`, { params: danger, headers: { 'mcp-name': 'thing' } })).error?.code).toBe(-32020)
  expect((await ask(`${url}/some`, { params: danger })).error?.message).toContain('no tool "danger"')
  expect(scripted.received).toEqual([])
})

test('a request that may hold what a client keeps for servers is read', async () => {
  scripted.received.length = 0
  scripted.answer = ({ res, body }) => json(res, body)
  const meta = { 'modelcontextprotocol.io/state/server': { 'ours/cart': 'milk', 'scripted/cart': 'bread' } }
  await ask(`${url}/scripted`, { meta })
  const got = JSON.parse(String(scripted.received[0]?.body)) as { params: { _meta: object } }
  expect(got.params._meta).toMatchObject({ 'modelcontextprotocol.io/state/server': { cart: 'bread' } })
  expect(String(scripted.received[0]?.body)).not.toContain('milk')
})

test('refused requests do not reach the server', async () => {
  scripted.received.length = 0
  const { body, ...request } = statelessRequest()
  const refused = [
    { ...request, body, headers: { ...request.headers, origin: 'https://evil.example' } },
    { ...request, body, headers: { ...request.headers, 'content-type': 'text/plain' } },
    { ...request, body: 'x'.repeat(5_000_000) },
  ]
  const statuses = []
  for (const each of refused) statuses.push((await fetch(`${url}/scripted`, each)).status)
  expect(statuses).toEqual([403, 415, 413])
  expect(scripted.received).toEqual([])
})

test('over fetch answers, streams and errors pass as over node:http', async () => {
  const direct = await fetch(urls.sdk, statelessRequest({ params: { name: 'steps' }, meta: { progressToken: 1 } }))
  const send = (path: string, parts: RequestParts = {}): Promise<Response> =>
    gateway.fetch(new Request(`http://localhost${path}`, statelessRequest(parts)))
  const streamed = await send('/mcp/sdk', { params: { name: 'steps' }, meta: { progressToken: 1 } })
  expect(streamed.headers.get('content-type')).toBe('text/event-stream')
  expect(await streamed.text()).toBe(await direct.text())
  scripted.answer = ({ res, body }) => json(res, body, 418, { 'retry-after': '3' })
  const answered = await send('/mcp/scripted')
  expect([answered.status, answered.headers.get('retry-after')]).toEqual([418, '3'])
  scripted.answer = ({ res }) => res.destroy()
  expect(await (await send('/mcp/scripted')).json()).toMatchObject({ id: 7, error: { data: { code: 'BACKEND_LOST' } } })
})

test('over fetch the work behind ends when the stream is cancelled', async () => {
  const gone = Promise.withResolvers<void>()
  scripted.answer = ({ res }) => {
    res.on('close', () => gone.resolve())
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n')
  }
  const response = await gateway.fetch(new Request('http://localhost/mcp/scripted', statelessRequest()))
  await response.body?.cancel()
  await gone.promise
})

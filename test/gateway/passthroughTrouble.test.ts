/** Requests whose bytes pass to a server that is broken, rude, slow or gone: the caller gets one clear error. */
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { json as readJson } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { eventsOf } from '../fixtures/modernClient.ts'
import { quiet } from '../interop/fixtures/instances.ts'
import { connectClient, modernServer, startGateway } from './fixtures/gateways.ts'
import { ask, statelessRequest } from './fixtures/statelessRequest.ts'
import { json, type Received, result, ScriptedServer } from './fixtures/statelessServers.ts'

const EVENTS = { 'content-type': 'text/event-stream' }
const scripted = new ScriptedServer()
let url = ''
let gateway: Awaited<ReturnType<typeof startGateway>>['gateway']

beforeAll(async () => {
  const ends: (() => unknown)[] = []
  const until = (end: () => unknown): void => void ends.unshift(end)
  await scripted.start(until)
  const servers = {
    rude: scripted.entry({ maxResultBytes: 100_000 }),
    late: scripted.entry({ timeoutSeconds: 1 }),
    full: scripted.entry({ maxInFlight: 2 }),
  }
  ;({ url, gateway } = await startGateway(servers, {}, {}, until))
  return async () => {
    for (const end of ends) await end()
  }
})

const page = ({ res }: Received): unknown => res.writeHead(502, { 'content-type': 'text/html' }).end('<html>')
const endless = ({ res }: Received): void => {
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': 200_000 })
  res.end(Buffer.alloc(200_000, 'x'))
}

test.each<[string, string, (received: Received) => unknown]>([
  ['closes the connection', 'BACKEND_LOST', ({ res }) => res.destroy()],
  [
    'closes it after the head of an answer',
    'BACKEND_LOST',
    ({ res }) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).flushHeaders()
      setImmediate(() => res.destroy())
    },
  ],
  ['refuses the credentials', 'BACKEND_REFUSED', ({ res }) => json(res, {}, 401, { 'www-authenticate': 'Bearer' })],
  ['refuses access', 'BACKEND_REFUSED', ({ res }) => res.writeHead(403).end()],
  ['redirects', 'BACKEND_INVALID', ({ res }) => res.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()],
  ['answers with a page', 'BACKEND_INVALID', page],
  ['answers with text', 'BACKEND_INVALID', ({ res }) => res.writeHead(200, { 'content-type': 'text/plain' }).end('hi')],
  [
    'accepts with a page',
    'BACKEND_INVALID',
    ({ res }) => res.writeHead(202, { 'content-type': 'text/html' }).end('<html>'),
  ],
  ['answers with too much', 'BACKEND_INVALID', endless],
  [
    'answers compressed bytes, which it was not asked for',
    'BACKEND_INVALID',
    ({ res }) => json(res, gzipSync(Buffer.alloc(1_000_000, 'x')), 200, { 'content-encoding': 'gzip' }),
  ],
])('of a server that %s the caller hears %s, with the id of the request', async (_, code, answer) => {
  scripted.received.length = 0
  scripted.answer = answer
  const heard = await fetch(`${url}/rude`, statelessRequest({ id: 'mine' }))
  expect([heard.status, heard.headers.get('www-authenticate'), heard.headers.get('location')]).toEqual([
    200,
    null,
    null,
  ])
  const { id, error } = (await heard.json()) as Awaited<ReturnType<typeof ask>>
  expect([id, error?.data]).toEqual(['mine', { code, server: 'rude' }])
  expect(error?.message).toContain('The server "rude" ')
  expect(scripted.received).toHaveLength(1) // it is not sent again
})

test.each(['application/json', 'text/event-stream'])(
  'a header that cannot be sent on is left out of an answer of %s',
  async (type) => {
    const body = type === 'application/json' ? '{}' : 'data: {}\n\n'
    scripted.answer = ({ res }) => {
      const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nMcp-Odd: \xe4\r\nMcp-Fine: a\r\nContent-Length: ${body.length}`
      res.socket?.end(Buffer.from(`${head}\r\n\r\n${body}`, 'latin1'))
    }
    for (const send of [fetch, (to: string, init: object) => gateway.fetch(new Request(to, init))]) {
      const response = await send(`${url}/rude`, statelessRequest())
      expect(await response.text()).toBe(body)
      expect(response.headers.get('mcp-fine')).toBe('a')
    }
  },
)

test('a status that is none is an error, on both hosts', async () => {
  scripted.answer = ({ res }) => json(res, {}, 999)
  for (const send of [fetch, (to: string, init: object) => gateway.fetch(new Request(to, init))]) {
    const response = await send(`${url}/rude`, statelessRequest())
    expect(await response.json()).toMatchObject({ error: { data: { code: 'BACKEND_INVALID' } } })
  }
})

test('a server that hangs is given up after its time, and its work is ended', async () => {
  const gone = Promise.withResolvers<void>()
  scripted.answer = ({ res }) => void res.on('close', () => gone.resolve())
  expect((await ask(`${url}/late`)).error?.data).toEqual({ code: 'BACKEND_TIMEOUT', server: 'late' })
  await gone.promise
})

const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } }
const event = `data: ${JSON.stringify(progress)}\n\n`

/** The messages of an event stream. */
async function messagesOf(response: Response): Promise<{ id?: unknown; error?: { data: unknown } }[]> {
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => {
    try {
      return JSON.parse(line.slice(6)) as { id?: unknown }
    } catch {
      return {}
    }
  })
}

test.each([
  ['between two events', event],
  ['within an event', `${event}data: {"jsonr`],
])('a stream that a server breaks off %s ends with the error', async (_, text) => {
  scripted.answer = ({ res }) => {
    res.writeHead(200, EVENTS).write(text, () => setImmediate(() => res.destroy()))
  }
  const messages = await messagesOf(await fetch(`${url}/rude`, statelessRequest()))
  expect(messages[0]).toEqual(progress)
  expect(messages.at(-1)).toMatchObject({ id: 7, error: { data: { code: 'BACKEND_LOST', server: 'rude' } } })
})

/** An answer that ends with its connection. */
function closed({ res }: Received, text: string): void {
  res.socket?.end(`HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n${text}`)
}

test.each([
  ['between two events', event],
  ['within an event', `${event}data: {"jsonr`],
  ['before the first', ''],
])('a stream that ends with its connection %s ends with the error', async (_, text) => {
  scripted.answer = (received) => closed(received, text)
  const messages = await messagesOf(await fetch(`${url}/rude`, statelessRequest()))
  expect(messages.at(-1)).toMatchObject({ id: 7, error: { data: { code: 'BACKEND_LOST', server: 'rude' } } })
})

test('a stream that ends with its connection after the answer passes as it is', async () => {
  let sent = ''
  scripted.answer = (received) => {
    sent = `${event}data: ${JSON.stringify(result(received.body, { content: [] }))}\n\n`
    closed(received, sent)
  }
  expect(await (await fetch(`${url}/rude`, statelessRequest())).text()).toBe(sent)
})

test('who claims to listen and does not is refused, and so is who sends a header of the protocol twice', async () => {
  scripted.received.length = 0
  const claimed = await fetch(`${url}/late`, statelessRequest({ headers: { 'mcp-method': 'subscriptions/listen' } }))
  expect(await claimed.json()).toMatchObject({ id: 7, error: { code: -32_020 } })
  const { headers, body } = statelessRequest()
  const twice = Object.entries({ ...headers, 'mcp-param-a': ['1', '2'] }).flatMap(([name, value]) =>
    [value].flat().flatMap((each) => [name, each]),
  )
  const request = httpRequest(`${url}/late`, { method: 'POST', headers: ['host', 'localhost', ...twice] }).end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  expect([response.statusCode, await readJson(response)]).toMatchObject([400, { id: 7, error: { code: -32_020 } }])
  expect(scripted.received).toEqual([])
})

test('the official client hears that the server broke off in the middle of a stream', async () => {
  const capabilities = {
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    ttlMs: 0,
    cacheScope: 'private',
  }
  scripted.answer = ({ res, body }) => json(res, result(body, capabilities))
  const client = await connectClient('v2', `${url}/rude`)
  scripted.answer = ({ res }) => {
    res.writeHead(200, EVENTS).write(event, () => setImmediate(() => res.destroy()))
  }
  await expect(client.callTool({ name: 'thing', arguments: {} })).rejects.toThrow('The server "rude" gave no answer')
})

test('a stream may be long, and one event in it may not', async () => {
  const many = Array.from(
    { length: 20 },
    () => `data: ${JSON.stringify({ ...progress, more: 'x'.repeat(20_000) })}\n\n`,
  )
  scripted.answer = async ({ res, body }) => {
    res.writeHead(200, EVENTS)
    for (const each of many) if (!res.write(each)) await once(res, 'drain')
    res.end(`data: ${JSON.stringify(result(body, { content: [] }))}\n\n`)
  }
  expect(await messagesOf(await fetch(`${url}/rude`, statelessRequest()))).toHaveLength(21)
  scripted.answer = ({ res }) => void res.writeHead(200, EVENTS).write(`${event}data: ${'x'.repeat(200_000)}`)
  const messages = await messagesOf(await fetch(`${url}/rude`, statelessRequest()))
  expect(messages.at(-1)).toMatchObject({ id: 7, error: { data: { code: 'BACKEND_INVALID' } } })
})

test('an answer without a length that grows too large is broken off', async () => {
  scripted.answer = ({ res }) => {
    res.writeHead(200, { 'content-type': 'application/json' }).write('x'.repeat(50_000))
    setImmediate(() => res.end('x'.repeat(100_000)))
  }
  const response = await fetch(`${url}/rude`, statelessRequest())
  await expect(response.text()).rejects.toThrow()
})

test('a large answer arrives whole', async () => {
  const large = Buffer.alloc(90_000, '\u00e4')
  scripted.answer = ({ res }) => json(res, large)
  const response = await fetch(`${url}/rude`, statelessRequest())
  expect(Buffer.from(await response.arrayBuffer()).equals(large)).toBe(true)
})

test('a server waits for a caller who does not read', async () => {
  let written = 0
  scripted.answer = ({ res }) => {
    const pump = (): void => {
      do written += event.length
      while (res.write(event) && !res.destroyed)
    }
    res.writeHead(200, EVENTS).on('drain', pump)
    pump()
  }
  const { headers, body } = statelessRequest()
  const { port, pathname } = new URL(`${url}/rude`)
  const socket = connect(Number(port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const lines = Object.entries({ host: 'localhost', 'content-length': body.length, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  socket.pause()
  socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
  // It has written what the buffers on the way hold, and waits.
  let before = -1
  await vi.waitFor(
    () => {
      const stands = written > 0 && before === written
      before = written
      expect(stands).toBe(true)
    },
    { timeout: 20_000, interval: 200 },
  )
  const stoppedAt = written
  let read = 0
  socket.on('data', (chunk: Buffer) => (read += chunk.length)).resume()
  await vi.waitFor(() => expect(written).toBeGreaterThan(stoppedAt), { timeout: 20_000 })
  expect(read).toBeGreaterThan(0)
  socket.destroy()
})

test('a caller has at most half of the requests that a server takes at once', async () => {
  const waiting: Received[] = []
  scripted.answer = (received) => void waiting.push(received)
  const first = ask(`${url}/full`)
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  expect((await ask(`${url}/full`)).error?.data).toEqual({ code: 'BACKEND_BUSY', server: 'full' })
  for (const { res, body } of waiting) json(res, result(body, { content: [] }))
  expect((await first).result).toMatchObject({ resultType: 'complete' })
  scripted.answer = ({ res, body }) => json(res, result(body, {}))
  expect((await ask(`${url}/full`)).result).toBeDefined()
})

test('a request that a server has no room for is told in the log as refused', async () => {
  const lines: Record<string, unknown>[] = []
  const logger = { ...quiet, info: (details: object) => void lines.push({ ...details }) }
  const { url: told } = await startGateway({ full: scripted.entry({ maxInFlight: 2 }) }, { logger })
  const waiting: Received[] = []
  scripted.answer = (received) => void waiting.push(received)
  const first = ask(`${told}/full`)
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  await ask(`${told}/full`)
  expect(lines.filter(({ outcome }) => outcome !== undefined)).toMatchObject([
    { server: 'full', outcome: 'refused', error: 'BACKEND_BUSY' },
  ])
  for (const { res, body } of waiting) json(res, result(body, { content: [] }))
  await first
})

test('behind a proxy, callers without a name are told apart by the address that the proxy writes', async () => {
  const { url: proxied } = await startGateway(
    { full: scripted.entry({ maxInFlight: 4 }) },
    {},
    { gateway: { limits: { clientAddressHeader: 'X-Real-IP' } } },
  )
  const waiting: Received[] = []
  scripted.answer = (received) => void waiting.push(received)
  const from = (address: string) => ask(`${proxied}/full`, { headers: { 'x-real-ip': address } })
  const busy = { code: 'BACKEND_BUSY', server: 'full' }
  const held = ['2001:db8:0:1::1', '2001:db8:0:1::2'].map(from)
  await vi.waitFor(() => expect(waiting).toHaveLength(2))
  expect((await from('2001:db8:0:1::3')).error?.data).toEqual(busy) // of the same network
  expect((await from('192.0.2.1, 2001:db8:0:1::4')).error?.data).toEqual(busy) // a client wrote the first one
  const other = from('2001:db8:0:2::1')
  await vi.waitFor(() => expect(waiting).toHaveLength(3))
  for (const { res, body } of waiting) json(res, result(body, { content: [] }))
  expect(await Promise.all([...held, other])).toMatchObject([{ result: {} }, { result: {} }, { result: {} }])
})

test('limits of a caller count what passes', async () => {
  const { url: limited } = await startGateway(
    { rude: scripted.entry() },
    {},
    { gateway: { limits: { requestsPerMinute: 2, callsAtOnce: 1 } } },
  )
  const waiting: Received[] = []
  scripted.answer = (received) => void waiting.push(received)
  const first = ask(`${limited}/rude`)
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  const { headers, status } = await fetch(`${limited}/rude`, statelessRequest())
  expect([status, headers.get('retry-after')]).toEqual([429, '1'])
  for (const { res, body } of waiting) json(res, result(body, {}))
  await first
  const third = await fetch(`${limited}/rude`, statelessRequest())
  expect([third.status, ((await third.json()) as { id: unknown }).id]).toEqual([429, 7])
})

test('a server that is gone is named, and one that is back is used', async () => {
  const { server } = await modernServer()
  const { port } = await server.listen({ drainOnTerm: false })
  const servers = { here: { url: `http://127.0.0.1:${port}/mcp`, pannier: { state: 'stateless' } } }
  const { url: behind, gateway: before } = await startGateway(servers)
  const condition = (): unknown => before.backends[0]?.connector.condition.kind
  const add = { params: { name: 'add', arguments: { a: 1, b: 2 } } }
  expect((await ask(`${behind}/here`, add)).result).toBeDefined()
  await server.drain({ deadlineMs: 0 })
  expect((await ask(`${behind}/here`, add)).error?.data).toEqual({ code: 'BACKEND_DOWN', server: 'here' })
  await vi.waitFor(() => expect(condition()).toBe('down'), { timeout: 20_000 })
  const again = await modernServer()
  await again.server.listen({ port, drainOnTerm: false })
  expect((await ask(`${behind}/here`, add)).result).toBeDefined()
})

test('a subscription passes, hears of changes, and is cancelled and has its result when the gateway stops', async () => {
  const { server, url: ours } = await modernServer()
  const { url: behind, gateway } = await startGateway({ ours: { url: ours, pannier: { state: 'stateless' } } })
  const params = { notifications: { toolsListChanged: true } }
  const response = await fetch(
    `${behind}/ours`,
    statelessRequest({ id: 'ear', method: 'subscriptions/listen', params }),
  )
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const next = async (): Promise<string> => (await reader?.read())?.value ?? ''
  expect(await next()).toContain('notifications/subscriptions/acknowledged')
  server.tool('new', { description: 'New.' }, () => 'new')
  expect(await next()).toContain('notifications/tools/list_changed')
  const drained = gateway.drain()
  const mark = { _meta: { 'io.modelcontextprotocol/subscriptionId': 'ear' } }
  expect(eventsOf(await next())).toEqual([
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'ear', ...mark } },
    { jsonrpc: '2.0', id: 'ear', result: { resultType: 'complete', ...mark } },
  ])
  expect((await reader?.read())?.done).toBe(true)
  await drained
})

test('a subscription that the server has not answered ends with its result when the gateway stops', async () => {
  const { url: behind, gateway } = await startGateway({ rude: scripted.entry() })
  const waiting = Promise.withResolvers<void>()
  scripted.answer = () => waiting.resolve()
  const asked = ask(`${behind}/rude`, { id: 'ear', method: 'subscriptions/listen', params: { notifications: {} } })
  await waiting.promise
  await gateway.drain()
  expect(await asked).toMatchObject({ id: 'ear', result: { resultType: 'complete' } })
})

test('a gateway that stops lets calls finish', async () => {
  const { url: behind, gateway } = await startGateway({ rude: scripted.entry() })
  const waiting: Received[] = []
  scripted.answer = (received) => void waiting.push(received)
  const asked = ask(`${behind}/rude`)
  await vi.waitFor(() => expect(waiting).toHaveLength(1))
  const drained = gateway.drain()
  for (const { res, body } of waiting) json(res, result(body, { content: [] }))
  expect((await asked).result).toBeDefined()
  await drained
})

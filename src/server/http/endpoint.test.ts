import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, test } from 'vitest'
import { AuthError } from '../index.ts'
import type { EndpointParts } from './endpoint.ts'
import type { Admission, RequestHandler } from './exchange.ts'
import { FetchHttpRequest, fetchHandler } from './fetch.ts'
import { nodeHandler } from './node.ts'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const closers: (() => unknown)[] = []
afterEach(() => Promise.all(closers.splice(0).map((close) => close())))

const BODY = '{ "jsonrpc": "2.0",  "same": 1, "same": 2,\n no JSON at all'
const LIMIT = 1000

/** A handler that never parses: it answers with the bytes it took and what the headers told. */
function passing() {
  const admissions: Admission[] = []
  const handler: RequestHandler = {
    handle: async (request, admission) => {
      admissions.push(admission)
      return { status: 200, body: await text(request.bytes()) }
    },
  }
  return { handler, admissions }
}

function partsOf(handler: RequestHandler, more: Partial<EndpointParts> = {}): EndpointParts {
  const messages = {
    mediaType: 'application/none',
    maxBytes: LIMIT,
    refusalOf: () => ({ status: 421 }),
    receive: () => Promise.resolve({ status: 500 }),
  }
  return { handler, authenticate: undefined, documents: new Map(), messages, logger: () => quiet, ...more }
}

async function portOf(parts: EndpointParts): Promise<number> {
  const server = createHttpServer(nodeHandler(parts, { maxBodyBytes: LIMIT }))
  closers.push(
    () => server.close(),
    () => server.closeAllConnections(),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const bob: EndpointParts['authenticate'] = ({ header }) => {
  if (header('authorization') !== 'Bearer bob') throw new AuthError('AUTH_MISSING', 'Say who you are.')
  return { id: 'bob' }
}

describe('a handler behind the endpoint takes the bytes of an admitted request as they came', () => {
  const headers = {
    authorization: 'Bearer bob',
    'content-type': 'application/json',
    'mcp-protocol-version': '2026-07-28',
  }
  const admission = { principal: { id: 'bob' }, era: 'modern' }

  test('over node:http', async () => {
    const { handler, admissions } = passing()
    const port = await portOf(partsOf(handler, { authenticate: bob }))
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body: BODY })
    expect([response.status, await response.text(), admissions]).toEqual([200, BODY, [admission]])
  })

  test('over fetch', async () => {
    const { handler, admissions } = passing()
    const handle = fetchHandler(partsOf(handler, { authenticate: bob }), {})
    const response = await handle(new Request('http://localhost/mcp', { method: 'POST', headers, body: BODY }))
    expect([response.status, await response.text(), admissions]).toEqual([200, BODY, [admission]])
  })

  test('and a body that grows over the limit on its way is refused with 413', async () => {
    const port = await portOf(
      partsOf({ handle: async (request) => ({ status: 200, body: await text(request.bytes()) }) }),
    )
    const socket = connect(port, '127.0.0.1')
    const chunk = 'x'.repeat(LIMIT + 1)
    socket.write(`POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n`)
    socket.write(`transfer-encoding: chunked\r\n\r\n${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`)
    expect((await text(socket)).slice(9, 12)).toBe('413')
  })
})

/** Each is refused by its headers alone. */
const REFUSED: [what: string, status: number, headers: Record<string, string>][] = [
  ['a foreign Host', 403, { host: 'evil.example' }],
  ['a foreign Origin', 403, { origin: 'http://evil.example' }],
  ['a body too large by its Content-Length', 413, { 'content-length': String(LIMIT + 1) }],
  ['an unknown caller', 401, { authorization: 'Bearer eve' }],
  ['another media type', 415, { 'content-type': 'text/plain' }],
  ['a message of an instance that comes from none', 421, { 'content-type': 'application/none' }],
  ['an answer that cannot be accepted', 406, { accept: 'text/html' }],
]

describe('a refused request keeps its body unread', () => {
  const usual = {
    host: 'localhost',
    authorization: 'Bearer bob',
    'content-type': 'application/json',
    'content-length': '20',
  }
  const handler: RequestHandler = { handle: () => Promise.reject(new Error('never asked')) }
  const parts = partsOf(handler, { authenticate: bob })

  test.each(REFUSED)('over node:http: %s', async (_, status, headers) => {
    const port = await portOf(parts)
    const socket = connect(port, '127.0.0.1')
    const lines = Object.entries({ ...usual, ...headers, connection: 'close' }).map(
      ([name, value]) => `${name}: ${value}`,
    )
    // The body is never sent, so an answer proves that nobody waited for it.
    socket.write(`POST / HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    expect((await text(socket)).slice(9, 12)).toBe(String(status))
  })

  test.each(REFUSED)('over fetch: %s', async (_, status, headers) => {
    let pulls = 0
    const source = { pull: () => void pulls++ }
    const body = new ReadableStream<Uint8Array>(source, { highWaterMark: 0 })
    const init = { method: 'POST', headers: { ...usual, ...headers }, body, duplex: 'half' }
    const response = await fetchHandler(parts, { maxBodyBytes: LIMIT })(new Request('http://localhost/mcp', init))
    expect([response.status, pulls]).toEqual([status, 0])
  })
})

describe('the era by headers', () => {
  test.each([
    [{ 'mcp-protocol-version': '2026-07-28' }, 'modern'],
    [{ 'mcp-protocol-version': '2026-07-28', 'mcp-session-id': 'x' }, 'modern'],
    [{ 'mcp-protocol-version': '2025-06-18' }, 'legacy'],
    [{ 'mcp-session-id': 'x' }, 'legacy'],
    [{ 'mcp-protocol-version': '1999-01-01', 'mcp-session-id': 'x' }, undefined],
    [{ 'mcp-method': 'tools/call' }, undefined],
    [{}, undefined],
  ])('of %j is %s', async (headers, era) => {
    const { handler, admissions } = passing()
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '{}' }
    await fetchHandler(partsOf(handler), {})(new Request('http://localhost/mcp', init))
    expect(admissions).toEqual([{ principal: undefined, era }])
  })
})

test('a body is let go once it is read, although its request lives on', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const make = () => {
    const bytes = new TextEncoder().encode(JSON.stringify('x'.repeat(1000)))
    const source = {
      start: (controller: ReadableStreamDefaultController<Uint8Array>): void => {
        controller.enqueue(bytes)
        controller.close()
      },
    }
    const url = new URL('http://localhost/mcp')
    const init = { method: 'POST', body: new ReadableStream(source), duplex: 'half' }
    return { kept: new WeakRef(bytes), request: new FetchHttpRequest(new Request(url, init), url, 4096) }
  }
  const { kept, request } = make()
  expect(await request.json()).toBe('x'.repeat(1000))
  await new Promise((resolve) => setTimeout(resolve)) // a reference that was looked at stays until the turn ends
  collect()
  expect([kept.deref(), request.method]).toEqual([undefined, 'POST'])
})

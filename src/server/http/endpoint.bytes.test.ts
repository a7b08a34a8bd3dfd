import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { once } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import type { EndpointParts } from './endpoint.ts'
import type { ByteSink, RequestHandler } from './exchange.ts'
import { fetchHandler } from './fetch.ts'
import { nodeHandler } from './node.ts'

const closers: (() => unknown)[] = []
afterEach(() => Promise.all(closers.splice(0).map((close) => close())))

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const ALL_BYTES = Buffer.from(Uint8Array.from({ length: 256 }, (_, at) => at))
const HEAD = { status: 418, headers: ['content-type', 'text/event-stream', 'Mcp-Thing', 'yes'] }

interface Opened {
  readonly bytes: ByteSink
  readonly isDrained: () => boolean
  readonly isLeft: () => boolean
}

/** Answers requests with bytes; `opened` resolves when the first one is there. */
function passing() {
  const opened = Promise.withResolvers<Opened>()
  const handler: RequestHandler = {
    handle: (_, __, sink) => {
      const seen = { drained: false, left: false }
      sink.onDisconnect(() => (seen.left = true))
      const bytes = sink.openBytes(HEAD, () => (seen.drained = true))
      opened.resolve({ bytes, isDrained: () => seen.drained, isLeft: () => seen.left })
      return Promise.resolve(undefined)
    },
  }
  const messages = {
    mediaType: 'application/none',
    maxBytes: 1000,
    refusalOf: () => ({ status: 421 }),
    receive: () => Promise.resolve({ status: 500 }),
  }
  const parts: EndpointParts = {
    handler,
    authenticate: undefined,
    documents: new Map(),
    messages,
    logger: () => quiet,
  }
  return { parts, opened: opened.promise }
}

const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }

/** How each host is asked. */
const HOSTS = {
  'node:http': async (parts: EndpointParts) => {
    const server = createServer(nodeHandler(parts, {}))
    closers.push(
      () => server.close(),
      () => server.closeAllConnections(),
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (): Promise<Response> => fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, request)
  },
  fetch: async (parts: EndpointParts) => {
    const handle = fetchHandler(parts, {})
    return (): Promise<Response> => handle(new Request('http://localhost/mcp', request))
  },
}

describe.each(Object.entries(HOSTS))('bytes of another server over %s', (_, start) => {
  test('arrive as they are, with their status and headers, in one piece', async () => {
    const { parts, opened } = passing()
    const answered = (await start(parts))()
    ;(await opened).bytes.end(ALL_BYTES)
    const response = await answered
    expect([response.status, response.headers.get('mcp-thing')]).toEqual([418, 'yes'])
    expect(Buffer.from(await response.arrayBuffer())).toEqual(ALL_BYTES)
    expect((await opened).isLeft()).toBe(false)
  })

  test('arrive in several pieces, the head before them', async () => {
    const { parts, opened } = passing()
    const answered = (await start(parts))()
    const { bytes } = await opened
    bytes.flush()
    const response = await answered
    bytes.write(ALL_BYTES)
    bytes.write(ALL_BYTES)
    bytes.end()
    expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.concat([ALL_BYTES, ALL_BYTES]))
  })

  test('wait for a client that does not read, and go on when it does', async () => {
    const { parts, opened } = passing()
    const answered = (await start(parts))()
    const { bytes, isDrained } = await opened
    let written = 0
    while (bytes.write(Buffer.alloc(65_536))) written++
    expect(written).toBeLessThan(1000)
    const response = await answered
    const reader = response.body?.getReader()
    while (!isDrained()) await reader?.read()
    bytes.end()
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read());
  })

  test('that are broken off are an error to the client', async () => {
    const { parts, opened } = passing()
    const answered = (await start(parts))()
    const { bytes } = await opened
    bytes.write(ALL_BYTES)
    const response = await answered
    bytes.abort()
    await expect(response.arrayBuffer()).rejects.toThrow()
  })

  test('end when the client leaves', async () => {
    const { parts, opened } = passing()
    const answered = (await start(parts))()
    const { bytes, isLeft } = await opened
    bytes.write(ALL_BYTES)
    await (await answered).body?.cancel()
    await expect.poll(isLeft).toBe(true)
    expect(bytes.write(ALL_BYTES)).toBe(true)
    bytes.end(ALL_BYTES)
  })
})

test('over node:http a client that reads slowly leaves no listeners behind', async () => {
  const { parts, opened } = passing()
  const sent = Promise.withResolvers<ServerResponse>()
  const handler = nodeHandler(parts, {})
  const server = createServer((req, res) => {
    sent.resolve(res)
    handler(req, res)
  })
  closers.push(
    () => server.close(),
    () => server.closeAllConnections(),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const response = await Promise.all([
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, request),
    opened.then(({ bytes }) => bytes.flush()),
  ])
  const res = await sent.promise
  const before = res.listenerCount('close')
  const { bytes } = await opened
  const reader = response[0].body?.getReader()
  for (let time = 0; time < 3; time++) {
    const seen = { isDrained: false }
    res.once('drain', () => (seen.isDrained = true))
    while (bytes.write(Buffer.alloc(65_536)));
    while (!seen.isDrained) await reader?.read()
  }
  expect(res.listenerCount('close')).toBe(before)
  bytes.abort()
})

test('a body that was read whole can still be parsed, over both hosts', async () => {
  const handler: RequestHandler = {
    handle: async (given) => {
      const bytes = await given.whole()
      return { status: 200, body: JSON.stringify([given.hasBytes, bytes.toString(), await given.json()]) }
    },
  }
  for (const start of Object.values(HOSTS)) {
    const ask = await start({ ...passing().parts, handler })
    expect(await (await ask()).json()).toEqual([true, '{}', {}])
  }
})

test('over node:http a whole answer is one write', async () => {
  const { parts, opened } = passing()
  const server = createServer(nodeHandler(parts, {}))
  closers.push(
    () => server.close(),
    () => server.closeAllConnections(),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  closers.push(() => socket.destroy())
  socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}')
  ;(await opened).bytes.end(ALL_BYTES)
  const [first] = (await once(socket, 'data')) as [Buffer]
  expect(first.toString('latin1')).toMatch(/^HTTP\/1\.1 418 /)
  expect(first.includes(ALL_BYTES)).toBe(true)
})

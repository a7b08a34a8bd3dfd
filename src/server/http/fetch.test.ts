import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { AuthError, createServer, localBus, type ServerOptions } from '../index.ts'
import { FetchSink } from './fetchSink.ts'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const MB = 1024 * 1024
/** An address that fills a stream quickly. */
const LONG = `x://${'y'.repeat(2_000)}`

function make(options: Partial<ServerOptions> = {}) {
  const server = createServer({ name: 'fetched', version: '1.0.0', logger: quiet, ...options })
  return server.resource('x://y', { name: 'y' }, () => 'y')
}

function listening(signal?: AbortSignal): Request {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const method = 'subscriptions/listen'
  const params = { notifications: { resourceSubscriptions: ['x://y', LONG] }, _meta: meta }
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'mcp-protocol-version': '2026-07-28', 'mcp-method': method },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    ...(signal && { signal }),
  })
}

function calling(session: string): Request {
  const params = { name: 'steps', arguments: {}, _meta: { progressToken: 1 } }
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'mcp-session-id': session },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  })
}

/** A bus of which a test knows how many listen. */
function countingBus() {
  const bus = localBus()
  const listeners = new Set<unknown>()
  const subscribe: typeof bus.subscribe = (listener) => {
    listeners.add(listener)
    const stop = bus.subscribe(listener)
    return () => (listeners.delete(listener), stop())
  }
  return { bus: { ...bus, subscribe }, listeners }
}

test('a stream that is opened again stays the one that its reader has', async () => {
  let response: Response | undefined
  const sink = new FetchSink((made) => (response ??= made), new AbortController().signal)
  for (const text of ['one', 'two']) {
    sink.open({ 'content-type': 'text/event-stream' })
    sink.write(text)
  }
  sink.end()
  expect(await response?.text()).toBe('onetwo')
})

test('a subscription that comes while the server is being stopped ends at once', async () => {
  const server = make()
  await server.drain({ deadlineMs: 0 })
  const response = await server.fetch(listening())
  expect(await response.text()).toContain('"resultType":"complete"')
})

describe('a stream that nobody reads', () => {
  test('ends at 16 million bytes, and what it listened to is let go', async () => {
    const { bus, listeners } = countingBus()
    const server = make({ bus })
    const before = listeners.size
    const response = await server.fetch(listening())
    expect(listeners.size).toBe(before + 1)
    for (let count = 0; count < 20_000 && listeners.size > before; count++) server.updated(LONG)
    expect(listeners.size).toBe(before)
    await expect(response.text()).rejects.toThrow('not read')
  })

  test('ends after a minute without a reader, and what it listened to is let go', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { bus, listeners } = countingBus()
    const server = make({ bus })
    const before = listeners.size
    const response = await server.fetch(listening())
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    for (let minute = 0; minute < 3; minute++) {
      for (let count = 0; count < 2; count++) server.updated('x://y')
      vi.advanceTimersByTime(59_000)
      await reader.read() // a slow one
    }
    expect(listeners.size).toBe(before + 1)
    vi.advanceTimersByTime(180_000)
    expect(listeners.size).toBe(before)
    await expect(reader.read()).rejects.toThrow('not read')
  })

  test('ends after a minute also when it is complete', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const server = make()
    server.tool('steps', { description: 'Says what it does.' }, (_, ctx) => (ctx.progress(1, 2), 'done'))
    const session = await sessionOf(server)
    const unread = await server.fetch(calling(session))
    const read = await server.fetch(calling(session))
    expect(await read.text()).toContain('done')
    vi.advanceTimersByTime(180_000)
    await expect(unread.text()).rejects.toThrow('not read')
  })

  test('and one that is read does not', async () => {
    const server = make()
    const response = await server.fetch(listening())
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    let size = 0
    while (size < 20 * MB) {
      for (let count = 0; count < 1000; count++) server.updated(LONG)
      for (let count = 0; count < 1000; count++) size += (await reader.read()).value?.length ?? Infinity
    }
    expect(size).toBeLessThan(Infinity)
  })
})

describe('a client that left while it was authenticated', () => {
  test('leaves no subscription behind', async () => {
    const { bus, listeners } = countingBus()
    const abort = new AbortController()
    const server = make({ bus, principal: () => (abort.abort(), { id: 'ann' }) })
    const before = listeners.size
    await server.fetch(listening(abort.signal))
    expect(listeners.size).toBe(before)
  })

  test('gets no stream, and whoever called the handler gets an end', async () => {
    const abort = new AbortController()
    const server = make({ principal: () => ({ id: 'ann' }) })
    const headers = { accept: 'text/event-stream', 'mcp-session-id': await sessionOf(server) }
    const listens = server.fetch(new Request('http://localhost/mcp', { headers, signal: abort.signal }))
    abort.abort()
    expect((await listens).body).toBeNull()
  })
})

async function sessionOf(server: ReturnType<typeof make>): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities: {} }
  const response = await server.fetch(
    new Request('http://localhost/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
    }),
  )
  return response.headers.get('mcp-session-id') ?? ''
}

test('a header that cannot be written becomes a 500', async () => {
  const principal = () => {
    throw new AuthError('AUTH_INVALID', 'no', { challenge: 'Bearer error_description="expired – log in"' })
  }
  const response = await make({ principal }).fetch(listening())
  expect([response.status, await response.json()]).toMatchObject([500, { error: { code: -32603 } }])
})

test.each([
  [1000, 200],
  [1001, 413],
])(
  'with a limit of 1000 bytes, a body of %i is answered with %i, whether its length is declared or not',
  async (bytes, status) => {
    const server = make()
    const handler = server.fetchHandler({ maxBodyBytes: 1000 })
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }).padEnd(bytes)
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    for (const length of [{ 'content-length': String(bytes) }, { 'content-length': '10' }, {}]) {
      const request = new Request('http://localhost/mcp', {
        method: 'POST',
        headers: { ...headers, ...length },
        body: ping,
      })
      expect((await handler(request)).status).toBe(status)
    }
  },
)

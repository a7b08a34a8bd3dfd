import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, test } from 'vitest'
import { AuthError, createServer, type EventBus, localBus, type Server, type ServerOptions } from '../index.ts'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const closers: (() => unknown)[] = []
afterEach(() => Promise.all(closers.splice(0).map((close) => close())))

function make(options: Partial<ServerOptions> = {}): Server {
  const server = createServer({ name: 'hosted', version: '1.0.0', logger: quiet, ...options })
  return server.tool('hello', { description: 'Says hello' }, () => 'hello')
}

const hosts = {
  listen: async (server: Server) => {
    closers.push(() => server.drain({ deadlineMs: 0 }))
    return (await server.listen({ drainOnTerm: false })).port
  },
  'all addresses': async (server: Server) => {
    closers.push(() => server.drain({ deadlineMs: 0 }))
    return (await server.listen({ host: '0.0.0.0', drainOnTerm: false })).port
  },
  nodeHandler: async (server: Server) => {
    const mounted = createHttpServer(server.nodeHandler())
    closers.push(() => mounted.close())
    await new Promise<void>((resolve) => mounted.listen(0, '127.0.0.1', resolve))
    return (mounted.address() as AddressInfo).port
  },
}

const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello"}}'
const lines = (...headers: string[]) => headers.map((header) => `${header}\r\n`).join('')
const post = (body: string, ...headers: string[]) =>
  `POST /mcp HTTP/1.1\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n${lines(...headers)}\r\n${body}`

/** What comes back for these bytes. */
function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytes)
  return text(socket)
}

describe('an Origin behind more headers than Node counts', () => {
  test.each([
    ['listen', 900],
    ['listen', 1500],
    ['nodeHandler', 900],
    ['nodeHandler', 1500],
  ] as const)('is minded in %s: %i', async (host, count) => {
    const many = Array.from({ length: count }, () => 'x:')
    const port = await hosts[host](make())
    const answer = await exchange(port, post(call, 'host: localhost', ...many, 'origin: http://evil.example'))
    // Some versions of Node refuse by themselves, others drop what is too much; with ours it does not depend on that.
    if (count > 1000 && host === 'listen') expect(answer).toContain('Send fewer headers.')
    expect(answer.slice(9, 12)).toBe(count > 1000 ? '431' : '403')
  })
})

test('a request with as many headers as Node may have cut off is refused', async () => {
  const handle = make().nodeHandler()
  const mounted = createHttpServer((req, res) => {
    handle(Object.assign(req, { rawHeaders: req.rawHeaders.slice(0, 2000) }), res)
  })
  mounted.maxHeadersCount = 0
  closers.push(() => mounted.close())
  await new Promise<void>((resolve) => mounted.listen(0, '127.0.0.1', resolve))
  const many = Array.from({ length: 1500 }, () => 'x:')
  const { port } = mounted.address() as AddressInfo
  const answer = await exchange(port, post(call, 'host: localhost', ...many, 'origin: http://evil.example'))
  expect(answer.slice(9, 12)).toBe('431')
})

test('a server on all addresses minds the Host where it is reached over loopback', async () => {
  const port = await hosts['all addresses'](make())
  expect((await exchange(port, post(call, 'host: evil.example'))).slice(9, 12)).toBe('403')
  expect((await exchange(port, post(call, 'host: localhost'))).slice(9, 12)).toBe('200')
})

test.each([[[]], [['origin: http://localhost']]])('a header that cannot be written becomes a 500 %j', async (more) => {
  const principal = () => {
    throw new AuthError('AUTH_INVALID', 'no', { challenge: 'Bearer error_description="expired – log in"' })
  }
  const failed: unknown[] = []
  const logger = { ...quiet, error: (details: unknown) => failed.push(details) }
  const port = await hosts.listen(make({ principal, logger }))
  const answer = await exchange(port, post(call, 'host: localhost', ...more))
  expect(answer.slice(9, 12)).toBe('500')
  expect(answer.match(/content-length/g)).toHaveLength(1)
  expect(answer).toMatch(/\r\n\r\n\{.*-32603.*\}$/)
  expect(failed).toHaveLength(1)
})

describe('a client that left while it was authenticated', () => {
  /** Counts who listens. */
  const countingBus = (): EventBus & { size: () => number } => {
    const bus = localBus()
    let size = 0
    const subscribe: EventBus['subscribe'] = (listener) => {
      const stop = bus.subscribe(listener)
      size++
      return () => (size--, stop())
    }
    return { ...bus, subscribe, size: () => size }
  }

  test('leaves no subscription behind', async () => {
    const bus = countingBus()
    const authenticating = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    const principal = async () => {
      authenticating.resolve()
      await left.promise
      return { id: 'ann' }
    }
    const port = await hosts.listen(make({ bus, principal }))
    const before = bus.size()
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const params = { notifications: { toolsListChanged: true }, _meta: meta }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params })
    const socket = connect(port, '127.0.0.1')
    const version = 'mcp-protocol-version: 2026-07-28'
    socket.write(post(body, 'host: localhost', version, 'mcp-method: subscriptions/listen'))
    await authenticating.promise
    socket.resetAndDestroy()
    await new Promise((resolve) => setTimeout(resolve, 50))
    left.resolve()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(bus.size()).toBe(before)
  })
})

test.each(['plain', 'h\u00e9', '\u2713 \u65e5\u672c', '\ud83d\ude00', 'a lone \ud800'])(
  'the text %j arrives as it was returned, with its length',
  async (said) => {
    const server = make().tool('say', { description: 'Says it' }, () => said)
    const answer = await exchange(await hosts.listen(server), post(call.replace('hello', 'say'), 'host: localhost'))
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    expect(JSON.parse(body)).toMatchObject({ result: { content: [{ text: said }] } })
    expect(head).toContain(`content-length: ${Buffer.byteLength(body)}\r\n`)
  },
)

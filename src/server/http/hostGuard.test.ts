import { createServer as createHttpServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createHostGuard, type GuardOptions } from './hostGuard.ts'
import { isLocalHost } from '../localHost.ts'
import { createServer } from '../index.ts'

type Verdict = 'passes' | 'Host' | 'Origin'

/** Which of the two headers a guard minds, if any. */
function judge(options: GuardOptions, loopback: boolean, host?: string, origin?: string): Verdict {
  const headers: Record<string, string | undefined> = { host, origin }
  const refused = createHostGuard(options)((name) => headers[name], loopback)
  if (refused === undefined) return 'passes'
  return refused.includes('that Host') ? 'Host' : 'Origin'
}

describe('reached over loopback, with nothing configured, a request', () => {
  test.each<[string | undefined, Verdict]>([
    ['localhost', 'passes'],
    ['localhost:3000', 'passes'],
    ['localhost:', 'passes'],
    ['LOCALHOST:3000', 'passes'],
    ['localhost.', 'passes'],
    ['localhost.:3000', 'passes'],
    ['127.0.0.1', 'passes'],
    ['127.0.0.1:3000', 'passes'],
    ['127.0.0.2:3000', 'passes'],
    ['[::1]', 'passes'],
    ['[::1]:3000', 'passes'],
    ['[0:0:0:0:0:0:0:1]:3000', 'passes'],
    ['[::ffff:127.0.0.1]:3000', 'passes'],
    [undefined, 'Host'],
    ['', 'Host'],
    ['evil.example', 'Host'],
    ['evil.example:3000', 'Host'],
    ['localhost.evil.example', 'Host'],
    ['127.0.0.1.evil.example', 'Host'],
    ['127.evil.example', 'Host'],
    ['evil.example.localhost.com', 'Host'],
    ['localhost..', 'Host'],
    ['.localhost', 'Host'],
    ['localhost:3000:3000', 'Host'],
    ['localhost:port', 'Host'],
    ['evil.example@localhost', 'Host'],
    ['localhost@evil.example', 'Host'],
    ['localhost/evil.example', 'Host'],
    ['localhost#.evil.example', 'Host'],
    ['localhost?.evil.example', 'Host'],
    ['localhost\\.evil.example', 'Host'],
    ['localhost%2eevil.example', 'Host'],
    ['localhost, evil.example', 'Host'],
    ['lоcalhost', 'Host'], // a Cyrillic letter
    ['0.0.0.0:3000', 'Host'],
    ['192.168.1.7:3000', 'Host'],
    ['::1', 'Host'],
    ['[::2]:3000', 'Host'],
    ['[::1', 'Host'],
    ['[fe80::1]:3000', 'Host'],
  ])('with Host %j: %s', (host, verdict) => {
    expect(judge({}, true, host)).toBe(verdict)
  })

  test.each<[string, Verdict]>([
    ['http://localhost', 'passes'],
    ['http://localhost:5173', 'passes'],
    ['https://localhost:5173', 'passes'],
    ['http://127.0.0.1:6274', 'passes'],
    ['http://[::1]:6274', 'passes'],
    ['HTTP://LOCALHOST:5173', 'passes'],
    ['null', 'Origin'],
    ['', 'Origin'],
    ['https://evil.example', 'Origin'],
    ['http://localhost.evil.example', 'Origin'],
    ['http://evil.example@localhost', 'Origin'],
    ['http://localhost@evil.example', 'Origin'],
    ['http://localhost/evil', 'Origin'],
    ['http://localhost, http://evil.example', 'Origin'],
    ['localhost', 'Origin'],
    ['file://', 'Origin'],
    ['chrome-extension://localhost', 'Origin'],
    ['vscode-webview://127.0.0.1', 'Origin'],
  ])('to localhost with Origin %j: %s', (origin, verdict) => {
    expect(judge({}, true, 'localhost:3000', origin)).toBe(verdict)
  })
})

describe('reached from elsewhere, with nothing configured, a request', () => {
  test.each<[string | undefined, string | undefined, Verdict]>([
    ['mcp.example.com', undefined, 'passes'],
    ['10.0.0.7:3000', undefined, 'passes'],
    [undefined, undefined, 'passes'],
    ['localhost:3000', 'http://localhost:6274', 'passes'], // a container's published port
    ['evil.example', 'http://evil.example', 'Origin'], // what rebinding looks like
    ['evil.example:3000', 'http://evil.example:3000', 'Origin'],
    ['mcp.example.com', 'http://localhost:6274', 'Origin'],
    ['localhost', 'https://evil.example', 'Origin'],
    ['mcp.example.com', 'null', 'Origin'],
    [undefined, 'file://', 'Origin'],
    [undefined, 'null', 'Origin'],
  ])('with Host %j and Origin %j: %s', (host, origin, verdict) => {
    expect(judge({}, false, host, origin)).toBe(verdict)
  })
})

describe('a list of hosts', () => {
  const allowedHosts = ['MCP.example.com:8443', '::1']
  test.each<[string | undefined, string | undefined, Verdict]>([
    ['mcp.example.com', undefined, 'passes'],
    ['mcp.example.com:443', undefined, 'passes'],
    ['Mcp.Example.Com.', undefined, 'passes'],
    ['[::1]:3000', undefined, 'passes'],
    ['localhost', undefined, 'Host'],
    ['a.mcp.example.com', undefined, 'Host'],
    ['mcp.example.com.evil.example', undefined, 'Host'],
    [undefined, undefined, 'Host'],
    ['mcp.example.com', 'https://mcp.example.com', 'passes'],
    ['mcp.example.com', 'https://mcp.example.com:8443', 'passes'],
    ['mcp.example.com', 'https://app.example.com', 'Origin'],
    ['mcp.example.com', 'http://localhost', 'Origin'],
  ])('holds for loopback and elsewhere alike: Host %j, Origin %j: %s', (host, origin, verdict) => {
    expect(judge({ allowedHosts }, true, host, origin)).toBe(verdict)
    expect(judge({ allowedHosts }, false, host, origin)).toBe(verdict)
  })
})

describe('a list of origins', () => {
  const allowedOrigins = ['https://App.example.com/', 'http://localhost:5173', 'chrome-extension://abcdef']
  test.each<[string, Verdict]>([
    ['https://app.example.com', 'passes'],
    ['https://app.example.com:443', 'passes'],
    ['http://localhost:5173', 'passes'],
    ['chrome-extension://abcdef', 'passes'],
    ['http://app.example.com', 'Origin'],
    ['https://app.example.com:8443', 'Origin'],
    ['http://localhost:5174', 'Origin'],
    ['chrome-extension://ghijkl', 'Origin'],
    ['vscode-webview://abcdef', 'Origin'],
    ['null', 'Origin'],
  ])('is to the letter: %s %s', (origin, verdict) => {
    expect(judge({ allowedOrigins }, true, 'localhost', origin)).toBe(verdict)
    expect(judge({ allowedOrigins }, false, 'mcp.example.com', origin)).toBe(verdict)
  })
})

test('a guard remembers the hosts that passed, not those that did not', () => {
  const guard = createHostGuard({})
  const ask = (host: string) => guard((name) => (name === 'host' ? host : undefined), true)
  for (let round = 0; round < 3; round++) {
    expect(ask('localhost:3000')).toBeUndefined()
    expect(ask('evil.example')).toBeDefined()
  }
})

test.each([
  [{ allowedHosts: ['https://mcp.example.com'] }, 'is not a host name'],
  [{ allowedHosts: ['*'] }, 'is not a host name'],
  [{ allowedOrigins: ['mcp.example.com'] }, 'is not an origin'],
  [{ allowedOrigins: ['https://mcp.example.com/path'] }, 'is not an origin'],
  [{ allowedOrigins: ['null'] }, 'is not an origin'],
])('a list that cannot work is refused at once: %j', (options, sentence) => {
  expect(() => createHostGuard(options)).toThrow(sentence)
})

test.each([
  ['127.0.0.1', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['127.evil.example', false],
  ['10.0.0.1', false],
  ['', false],
])('the address %j is local: %s', (address, local) => {
  expect(isLocalHost(address)).toBe(local)
})

describe('on a local address the checks are on by themselves', () => {
  const server = createServer({
    name: 'guarded',
    version: '1.0.0',
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  server.tool('hello', { description: 'Says hello' }, () => 'hello')
  const mounted = createHttpServer(server.nodeHandler())
  const hosts: Record<string, (headers: Record<string, string>) => Promise<number>> = {}

  beforeAll(async () => {
    const { port } = await server.listen()
    await new Promise<void>((resolve) => mounted.listen(0, '127.0.0.1', resolve))
    hosts['listen'] = (headers) => overHttp(port, headers)
    hosts['nodeHandler'] = (headers) => overHttp((mounted.address() as AddressInfo).port, headers)
    hosts['fetch'] = async (headers) =>
      (await server.fetch(new Request('http://localhost:3000/mcp', { method: 'POST', headers, body }))).status
  })
  afterAll(async () => {
    await server.drain()
    await new Promise((resolve) => mounted.close(resolve))
  })

  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: meta } })
  const usual = {
    'content-type': 'application/json',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'server/discover',
  }

  function overHttp(port: number, headers: Record<string, string>): Promise<number> {
    return new Promise((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', path: '/mcp', method: 'POST', headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      })
      sent.on('error', reject).end(body)
    })
  }

  test.each(['listen', 'nodeHandler', 'fetch'])('in %s', async (name) => {
    const knock = (headers: Record<string, string>) => hosts[name]?.({ ...usual, ...headers })
    expect(await knock({ host: 'localhost:3000' })).toBe(200)
    expect(await knock({ host: 'localhost:3000', origin: 'http://localhost:6274' })).toBe(200)
    expect(await knock({ host: 'evil.example' })).toBe(403)
    expect(await knock({ host: 'evil.example', origin: 'http://evil.example' })).toBe(403)
    expect(await knock({ host: 'localhost', origin: 'http://evil.example' })).toBe(403)
    expect(await knock({ host: 'localhost', origin: 'null' })).toBe(403)
  })

  test('also in fetch where the attacker’s name is all there is to see', async () => {
    const headers = { ...usual, origin: 'http://evil.example' }
    const rebound = new Request('http://evil.example/mcp', { method: 'POST', headers, body })
    expect((await server.fetch(rebound)).status).toBe(403)
  })
})

test('a guard remembers at most a hundred Host values, however many names of the local host it hears', () => {
  const add = vi.spyOn(Set.prototype, 'add')
  const guard = createHostGuard({})
  const answers = Array.from({ length: 500 }, (_, n) =>
    guard((name) => (name === 'host' ? `localhost:${n}` : undefined), true),
  )
  const remembered = add.mock.calls.filter(([value]) => String(value).startsWith('localhost:')).length
  add.mockRestore()
  expect(remembered).toBe(100)
  expect(answers.every((refused) => refused === undefined)).toBe(true)
})

describe('allowedHosts and allowedOrigins', () => {
  const lists = { allowedHosts: ['mcp.example.com'], allowedOrigins: ['https://app.example.com'] }
  const make = (options: GuardOptions) => createServer({ name: 'lists', version: '1.0.0', ...options })
  const ask = (host: string, origin: string) =>
    new Request(`https://${host}/mcp`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    })

  test('given to createServer hold for every host, and a host can have its own', async () => {
    const server = make(lists)
    expect((await server.fetch(ask('mcp.example.com', 'https://app.example.com'))).status).toBe(204)
    expect((await server.fetch(ask('other.example.com', 'https://app.example.com'))).status).toBe(403)
    const own = server.fetchHandler({ allowedHosts: ['other.example.com'] })
    expect((await own(ask('other.example.com', 'https://app.example.com'))).status).toBe(204)
    expect((await own(ask('mcp.example.com', 'https://app.example.com'))).status).toBe(403)
  })
})

import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { Client, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Caller } from '../../../test/docs/fixtures/caller.ts'
import { proves } from '../../../test/proves.ts'
import { createServer, type LimitOptions, type Principal, type Server } from '../index.ts'
import { networkOf } from './quotaCaller.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const URL_OF_SERVER = 'http://server.example/mcp'

/** Callers are who they say, or nobody. */
function open(limits: LimitOptions): Server {
  const principal = ({ header }: { header(name: string): string | undefined }): Principal | undefined => {
    const id = header('x-user')
    return id === undefined ? undefined : { id }
  }
  const server = createServer({ name: 'limited', version: '1.0.0', principal, limits, logger: silent })
  onTestFinished(() => server.drain())
  return server.tool('echo', { description: 'Echoes.' }, () => 'echo')
}

const as = (server: Server, user?: string, headers: Record<string, string> = {}) =>
  new Caller(server.fetch, { headers: { ...headers, ...(user !== undefined && { 'x-user': user }) } })

/** The status of so many calls, one after the other. */
async function statusesOf(caller: Caller, calls: number): Promise<number[]> {
  const statuses: number[] = []
  for (let call = 0; call < calls; call++) statuses.push((await caller.round('echo')).status)
  return statuses
}

afterEach(() => void vi.restoreAllMocks())

describe('requests per minute', () => {
  proves('MRTR-45', 'a caller who sends too many requests is told when to go on; others are served', async () => {
    const server = open({ requestsPerMinute: 3 })
    expect(await statusesOf(as(server, 'ann'), 3)).toEqual([200, 200, 200])
    const { status, headers, error } = await as(server, 'ann').round('echo')
    const seconds = Number(headers.get('retry-after'))
    expect(status).toBe(429)
    expect(seconds).toBeGreaterThan(50)
    expect(seconds).toBeLessThanOrEqual(60)
    expect(error).toEqual({
      code: -32600,
      message: `Too many requests: at most 3 per minute. Try again in ${seconds} s.`,
      data: { retryAfterSeconds: seconds },
    })
    expect(await statusesOf(as(server, 'bob'), 3)).toEqual([200, 200, 200])
    const later = Date.now() + seconds * 1000
    vi.spyOn(Date, 'now').mockReturnValue(later)
    expect(await statusesOf(as(server, 'ann'), 4)).toEqual([200, 200, 200, 429])
  })

  test.each(['auto', 'legacy'] as const)('reach the official client as an HTTP error (%s)', async (mode) => {
    const server = open({ requestsPerMinute: 5 })
    const client = new Client({ name: 'v2', version: '1' }, { versionNegotiation: { mode } })
    const door = (input: string | URL, init?: RequestInit) => server.fetch(new Request(input, init))
    const requestInit = { headers: { 'x-user': 'ann' } }
    await client.connect(new StreamableHTTPClientTransport(new URL(URL_OF_SERVER), { fetch: door, requestInit }))
    onTestFinished(() => client.close())
    const calls = async () => {
      for (;;) await client.callTool({ name: 'echo' })
    }
    const error: unknown = await calls().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(SdkHttpError)
    expect(error).toMatchObject({ status: 429, message: expect.stringContaining('at most 5 per minute') })
  })

  test('are refused before their body is read, once their caller was told to wait', async () => {
    const server = open({ requestsPerMinute: 1 })
    expect(await statusesOf(as(server, 'ann'), 2)).toEqual([200, 429])
    const unread: boolean[] = []
    const door = async (request: Request): Promise<Response> => {
      const response = await server.fetch(request)
      unread.push(!request.bodyUsed)
      return response
    }
    const headers = (user: string) => ({ headers: { 'x-user': user } })
    const refused = await new Caller(door, headers('ann')).round('echo')
    expect([refused.status, refused.error.code]).toEqual([429, -32600])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
    expect((await new Caller(door, headers('bob')).round('echo')).status).toBe(200)
    expect(unread).toEqual([true, false])
  })

  test('count whatever is asked, also what does not exist', async () => {
    const caller = as(open({ requestsPerMinute: 3 }), 'ann')
    const statuses = [
      (await caller.send('server/discover')).status,
      (await caller.send('tools/list')).status,
      (await caller.send('no/method')).status,
      (await caller.send('tools/list')).status,
    ]
    expect(statuses).toEqual([200, 200, 404, 429])
  })

  test('on stdio are refused with the error alone', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const serving = open({ requestsPerMinute: 1 }).stdio({ input, output, drainOnTerm: false })
    for (const id of [1, 2]) input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n`)
    const messages: { id: number; error?: object }[] = []
    for await (const line of createInterface({ input: output })) {
      messages.push(JSON.parse(line))
      if (messages.length === 2) break
    }
    input.end()
    await serving
    expect(messages.find(({ id }) => id === 1)).toHaveProperty('result')
    expect(messages.find(({ id }) => id === 2)?.error).toMatchObject({
      code: -32600,
      message: expect.stringContaining('Too many requests'),
    })
  })
})

describe('the anonymous', () => {
  const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }

  function messageOf(method: string, session?: string): RequestInit {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session }),
    }
    const params = method === 'initialize' ? initialize : {}
    return { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) }
  }

  const post = (url: string, method: string, session?: string): Promise<Response> =>
    fetch(url, messageOf(method, session))

  test('are counted by the address they come from, however many sessions they begin', async () => {
    const { url } = await open({ requestsPerMinute: 4 }).listen({ drainOnTerm: false })
    const begun = [await post(url, 'initialize'), await post(url, 'initialize')]
    const sessions = begun.map(({ headers }) => headers.get('mcp-session-id') ?? '')
    const statuses = []
    for (const session of [...sessions, ...sessions]) statuses.push((await post(url, 'ping', session)).status)
    expect(statuses).toEqual([200, 200, 429, 429])
    expect((await post(url, 'initialize')).status).toBe(429)
  })

  test('are counted by session where no address is known', async () => {
    const server = open({ requestsPerMinute: 2 })
    const send = async (method: string, session?: string): Promise<Response> =>
      server.fetch(new Request('http://localhost/mcp', messageOf(method, session)))
    const first = (await send('initialize')).headers.get('mcp-session-id') ?? ''
    const second = (await send('initialize')).headers.get('mcp-session-id') ?? ''
    expect((await send('initialize')).status).toBe(429)
    for (const session of [first, second]) {
      const statuses = [await send('ping', session), await send('ping', session), await send('ping', session)]
      expect(statuses.map(({ status }) => status)).toEqual([200, 200, 429])
    }
  })

  test('are counted by the address that a proxy tells, where the server reads it', async () => {
    const server = open({ requestsPerMinute: 2, clientAddress: ({ header }) => header('x-real-ip') })
    expect(await statusesOf(as(server, undefined, { 'x-real-ip': '192.0.2.1' }), 3)).toEqual([200, 200, 429])
    expect(await statusesOf(as(server, undefined, { 'x-real-ip': '192.0.2.2' }), 3)).toEqual([200, 200, 429])
    expect(await statusesOf(as(server, 'ann', { 'x-real-ip': '192.0.2.2' }), 3)).toEqual([200, 200, 429])
  })

  test('are counted together where nothing tells them apart', async () => {
    const server = open({ requestsPerMinute: 2 })
    expect(await statusesOf(as(server, undefined, { 'x-real-ip': '192.0.2.1' }), 2)).toEqual([200, 200])
    expect(await statusesOf(as(server, undefined, { 'x-real-ip': '192.0.2.2' }), 1)).toEqual([429])
  })

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['2001:0db8:0000:0000:0000:0000:0000:0009', '2001:db8:0:0::/64'],
    ['::ffff:c000:0201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('at %s are of the network %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})

describe('calls at once', () => {
  function slow(limits: LimitOptions) {
    const running: PromiseWithResolvers<string>[] = []
    const waiting: (() => void)[] = []
    const server = open(limits).tool('slow', { description: 'Takes long.' }, () => {
      const call = Promise.withResolvers<string>()
      running.push(call)
      for (const resolve of waiting.splice(0)) resolve()
      return call.promise
    })
    const begun = async (calls: number) => {
      while (running.length < calls) await new Promise<void>((resolve) => void waiting.push(resolve))
    }
    return { server, running, begun }
  }

  test('above the limit are refused until one has ended, for one caller alone', async () => {
    const { server, running, begun } = slow({ callsAtOnce: 2 })
    const ann = as(server, 'ann')
    const calls = [ann.round('slow'), ann.round('slow')]
    await begun(2)
    const { status, headers, error } = await ann.round('echo')
    expect([status, headers.get('retry-after')]).toEqual([429, '1'])
    expect(error.message).toBe('Too many calls at once: at most 2. Try again when one of them has ended.')
    expect((await ann.send('tools/list')).status).toBe(200)
    expect((await as(server, 'bob').round('echo')).status).toBe(200)
    running[0]?.resolve('done')
    await calls[0]
    expect((await ann.round('echo')).status).toBe(200)
    running[1]?.reject(new Error('failed'))
    await calls[1]
    expect(await statusesOf(ann, 3)).toEqual([200, 200, 200])
  })
})

describe('limits are refused', () => {
  test.each<[string, object, string]>([
    ['that are none', {}, 'needs requestsPerMinute, callsAtOnce or clientAddress'],
    ['of zero', { callsAtOnce: 0 }, 'callsAtOnce is a whole number, at least 1'],
    ['of a fraction', { requestsPerMinute: 0.5 }, 'requestsPerMinute is a whole number, at least 1'],
    ['that are misspelt', { requestPerMinute: 5 }, 'did you mean "requestsPerMinute"?'],
  ])('%s', (_, limits, sentence) => {
    expect(() => createServer({ name: 'x', version: '1', limits })).toThrow(sentence)
  })
})

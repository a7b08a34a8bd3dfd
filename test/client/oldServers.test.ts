/** `connect` and servers of the session era that do not expect to be asked for their era, and those of 2024-11-05. */
import type { Client } from '@modelcontextprotocol/client'
import { connect, type ConnectOptions, type Notice, type Target } from 'pannier/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startPannier } from '../cli/fixtures/program.ts'
import { listening, sessionServer, sseServer } from './fixtures/servers/oldServers.ts'

const text = (value: string) => ({ content: [{ type: 'text', text: value }] })
const form = () => ({ action: 'accept', content: { name: 'Ann' } }) as const

const CUT = /the stream of the server has ended.*may have had effects/

async function connected(target: Target, options: ConnectOptions = {}): Promise<Client> {
  const client = await connect(target, { answerers: { form }, ...options })
  onTestFinished(() => client.close())
  return client
}

describe('a server that answers the question for its era', () => {
  test.each<[string, Parameters<typeof sessionServer>[0]]>([
    ['with 500', (_, res) => res.writeHead(500).end('Internal Server Error')],
    ['with 502 and a page', (_, res) => res.writeHead(502, { 'content-type': 'text/html' }).end('<html>')],
    ['with 406', (_, res) => res.writeHead(406).end()],
    ['with a page', (_, res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
    ['with JSON that is no message', (_, res) => res.writeHead(200, { 'content-type': 'application/json' }).end('[1]')],
    ['with an empty stream', (_, res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).end()],
    ['with nothing', (_, res) => res.writeHead(202).end()],
    ['by cutting the connection', (req) => req.socket.destroy()],
  ])('%s is reached in the session era', async (_, onDiscover) => {
    const client = await connected(await sessionServer(onDiscover), { connectTimeoutMs: 1200 })
    expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25')
    expect(await client.callTool({ name: 'greet' })).toMatchObject(text('Hello Ann'))
  })

  test('by saying nothing is reached in the session era', async () => {
    const client = await connected(await sessionServer(() => {}), { connectTimeoutMs: 1000 })
    expect(await client.callTool({ name: 'hello' })).toMatchObject(text('hello'))
  })
})

describe('a server of 2024-11-05', () => {
  test.each<[string, ConnectOptions]>([
    ['is found', {}],
    ['is reached at once by the era', { era: 'sse' }],
  ])('%s, and its questions reach the answerers', async (_, options) => {
    const { url, seen } = await sseServer()
    const client = await connected(url, { ...options, headers: { 'x-key': 'k' } })
    expect(await client.callTool({ name: 'hello' })).toMatchObject(text('hello'))
    expect(await client.callTool({ name: 'greet' })).toMatchObject(text('Hello Ann'))
    expect(seen.every((headers) => headers['x-key'] === 'k')).toBe(true)
  })

  test('is reached at once by an address that says so', async () => {
    const { url, seen } = await sseServer()
    await connected({ url, transport: 'sse' })
    expect(seen[0]?.accept).toBe('text/event-stream')
  })

  test('whose stream is cut ends the calls that wait, with the reason', async () => {
    const server = await sseServer()
    const notices: Notice[] = []
    const client = await connected(server.url, { onNotice: (notice) => notices.push(notice) })
    const waiting = client.callTool({ name: 'wait' })
    const failed = waiting.catch((error: unknown) => error)
    await client.callTool({ name: 'hello' })
    server.cut()
    expect(await failed).toMatchObject({ message: expect.stringMatching(CUT) })
    await expect(client.callTool({ name: 'hello' })).rejects.toThrow()
  })

  test.each([401, 403])('that answers %s to its stream refuses access', async (status) => {
    const { url } = await sseServer(({ method }) => (method === 'GET' ? status : undefined))
    await expect(connect(url)).rejects.toMatchObject({ code: 'AUTHORIZATION_FAILED' })
  })

  test('that never says where to post is given up in time', async () => {
    const url = await listening(({ method }, res) => {
      if (method === 'GET') res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      else res.writeHead(405).end()
    })
    const failed = connect(url, { connectTimeoutMs: 200, era: 'sse' })
    await expect(failed).rejects.toMatchObject({ code: 'CONNECT_FAILED', message: expect.stringContaining('0.2 s') })
  })

  test('whose endpoint is at another origin is refused', async () => {
    const url = await listening((_, res) => {
      const head = res.writeHead(200, { 'content-type': 'text/event-stream' })
      head.write('event: endpoint\ndata: http://127.0.0.1:1/messages\n\n')
    })
    await expect(connect(url, { era: 'sse' })).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
  })
})

test('the program finds such a server, and --era chooses by hand', async () => {
  const { url } = await sseServer()
  const [found, chosen] = await Promise.all([
    startPannier(['call', url, 'hello', '--no-jar']).ended,
    startPannier(['call', url, 'hello', '--no-jar', '--era', 'session']).ended,
  ])
  expect(found).toEqual({ status: 0, stdout: 'hello\n', stderr: '' })
  expect(chosen).toMatchObject({ status: 3, stderr: expect.stringContaining('no MCP endpoint') })
})

test('an address where no way leads to a server is told by what it answers to a message', async () => {
  const url = await listening(({ method }, res) => res.writeHead(method === 'POST' ? 405 : 200).end('a page'))
  await expect(connect(url)).rejects.toThrow('there is no MCP endpoint at this path (HTTP 405)')
})

test.each([
  ['stateless', 'session'],
  ['session', 'sse'],
  ['sse', 'session'],
] as const)('the era %s is the only one that is tried', async (era, other) => {
  const url = other === 'sse' ? (await sseServer()).url : await sessionServer((_, res) => res.writeHead(500).end())
  await expect(connect(url, { era })).rejects.toMatchObject({ code: 'CONNECT_FAILED' })
  await connected(url, { era: other })
})

/**
 * The frameworks of examples/mount/express.ts, examples/mount/fastify.ts and examples/mount/hono.ts, each with its own
 * body parser off and on.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { createServer, type Server } from 'pannier/server'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import * as inExpress from '../../examples/mount/express.ts'
import * as inFastify from '../../examples/mount/fastify.ts'
import * as inHono from '../../examples/mount/hono.ts'
import { startHttpHost } from '../fixtures/httpHost.ts'
import { restaurant } from '../../examples/mount/restaurant.ts'
import { call, eventsOf, open, post } from '../fixtures/modernClient.ts'

interface Started {
  url: string
  close(): Promise<unknown>
}

async function startHttp(http: HttpServer): Promise<Started> {
  const { url, close } = await startHttpHost(http)
  return { url, close: async () => close() }
}

async function startFastify(mount: (app: ReturnType<typeof fastify>, server: Server) => void, server: Server) {
  const app = fastify({ forceCloseConnections: true })
  mount(app, server)
  // The parsers of other routes stay as they are.
  app.post('/other', (request) => ({ parsed: request.body }))
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  return { url: `${address}/mcp`, close: () => app.close() }
}

const variants: Record<string, (server: Server) => Promise<Started>> = {
  express: (server) => {
    const app = express()
    inExpress.mount(app, server)
    return startHttp(createHttpServer(app))
  },
  'express with express.json()': (server) => {
    const app = express().use(express.json())
    inExpress.mount(app, server)
    return startHttp(createHttpServer(app))
  },
  'express with express.raw()': (server) => {
    const app = express().use(express.raw({ type: '*/*' }))
    inExpress.mount(app, server)
    return startHttp(createHttpServer(app))
  },
  fastify: (server) => startFastify(inFastify.mount, server),
  'fastify with its own parser': (server) => startFastify(inFastify.mountParsed, server),
  hono: (server) => {
    const app = new Hono()
    inHono.mount(app, server)
    return startHttp(createAdaptorServer({ fetch: app.fetch }) as HttpServer)
  },
  'hono with a middleware that parses': (server) => {
    const app = new Hono()
    app.use(async (c, next) => {
      if (c.req.method === 'POST') await c.req.json()
      await next()
    })
    inHono.mountParsed(app, server)
    return startHttp(createAdaptorServer({ fetch: app.fetch }) as HttpServer)
  },
}

const accept = (content: object) => ({ action: 'accept', content })

describe.each(Object.keys(variants))('mounted in %s', (name) => {
  const server = restaurant()
  let at: Started
  beforeAll(async () => {
    at = await (variants[name] as (server: Server) => Promise<Started>)(server)
  })
  afterAll(() => at.close())
  afterEach(() => vi.waitFor(() => expect(server.inFlight).toBe(0), 5000)) // no call outlives its client

  test('a tool answers with one JSON message', async () => {
    const { status, type, message } = await call(at.url, 'menu')
    expect(status).toBe(200)
    expect(type).toBe('application/json')
    expect(message.result.content[0].text).toBe('Soup, dumplings, plum cake.')
  })

  test('a tool asks twice, each time in a round of its own', async () => {
    const args = { day: 'Friday' }
    const first = (await call(at.url, 'book_table', args)).message.result
    expect(first.inputRequests.people.params.message).toBe('For how many people?')
    const second = (await call(at.url, 'book_table', args, next(first, { people: accept({ people: 4 }) }))).message
      .result
    expect(second.inputRequests.sure.params.message).toBe('A table for 4 on Friday?')
    const last = (await call(at.url, 'book_table', args, next(second, { sure: accept({ sure: true }) }))).message.result
    expect(last.content[0].text).toBe('Booked for 4 on Friday.')
  })

  test('progress is streamed while the tool works, and the result ends the stream', async () => {
    const cooking = await cook(at.url, { minutes: 3, msPerMinute: 30 })
    expect(cooking.headers.get('content-type')).toBe('text/event-stream')
    const messages = eventsOf(await cooking.text())
    expect(messages.map(({ params }) => params?.progress)).toEqual([1, 2, 3, undefined])
    expect(messages.at(-1).result.content[0].text).toBe('Done.')
  })

  test('an event leaves at once, and a client that then closes the stream cancels the call', async () => {
    const cooking = await cook(at.url, { minutes: 100_000, msPerMinute: 10 })
    const reader = (cooking.body as ReadableStream<Uint8Array>).getReader()
    const { value } = await reader.read()
    expect(new TextDecoder().decode(value)).toContain('notifications/progress')
    expect(server.inFlight).toBe(1)
    await reader.cancel()
    await vi.waitFor(() => expect(server.inFlight).toBe(0), 5000)
  })

  test('a client that goes before anything is answered cancels the call', async () => {
    const leave = new AbortController()
    const cooking = cook(at.url, { minutes: 1, msPerMinute: 600_000 }, leave.signal)
    await vi.waitFor(() => expect(server.inFlight).toBe(1), 5000)
    leave.abort()
    await expect(cooking).rejects.toThrow('abort')
    await vi.waitFor(() => expect(server.inFlight).toBe(0), 5000)
  })

  test('sessions of the older revisions work too: initialize, a stream by GET, the end by DELETE', async () => {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'old', version: '1.0.0' } }
    const initialized = await fetch(at.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    })
    const headers = { 'mcp-session-id': initialized.headers.get('mcp-session-id') ?? '', accept: 'text/event-stream' }
    const leave = new AbortController()
    const stream = await fetch(at.url, { headers, signal: leave.signal })
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    leave.abort()
    expect((await fetch(at.url, { method: 'DELETE', headers })).status).toBe(204)
    expect((await fetch(at.url, { headers })).status).toBe(404)
  })

  test('what the server refuses, it refuses through the framework', async () => {
    expect((await post(at.url, { method: 'no/such' })).status).toBe(404)
    expect((await call(at.url, 'menu', {}, { headers: { 'mcp-name': 'other' } })).message.error.code).toBe(-32020)
    expect((await call(at.url, 'menu', {}, { headers: { origin: 'https://evil.example' } })).status).toBe(403)
    expect((await fetch(at.url, { method: 'PATCH' })).status).toBe(405)
  })

  test('nesting without end is refused whoever parsed it', async () => {
    const depth = 3000
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"menu","a":${'['.repeat(depth)}${']'.repeat(depth)}}}`
    const { status, message } = await call(at.url, 'menu', {}, { body })
    expect(status).toBe(400)
    expect(message.error.code).toBe(-32700)
  })
})

describe('a body that was read before', () => {
  test('is missed in words, not waited for: node', async () => {
    const app = fastify()
    const handle = restaurant().nodeHandler()
    app.all('/mcp', (request, reply) => {
      reply.hijack()
      handle(request.raw, reply.raw)
    })
    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    const { status, message } = await call(`${address}/mcp`, 'menu')
    expect(status).toBe(500)
    expect(message.error.message).toBe('The body was read before it came here; hand it over as "body" of the request.')
    await app.close()
  })

  test('is missed in words: fetch', async () => {
    const request = new Request('http://localhost/mcp', { method: 'POST', body: '{}' })
    await request.text()
    const response = await restaurant().fetch(request)
    expect(response.status).toBe(500)
    expect(await response.text()).toContain('hand the request on unread, or a clone of it')
  })
})

test('other routes of Fastify keep their parsers', async () => {
  const at = await startFastify(inFastify.mount, restaurant())
  const response = await fetch(new URL('/other', at.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"a":1}',
  })
  expect(await response.json()).toEqual({ parsed: { a: 1 } })
  await at.close()
})

test('the metadata of a protected server is one more route, with the same handler', async () => {
  const metadata = {
    path: '/.well-known/oauth-protected-resource/mcp',
    document: { resource: 'https://mcp.example.com' },
  }
  const server = createServer({
    name: 'protected',
    version: '1.0.0',
    principal: { authenticate: () => ({ id: 'ann' }), metadata },
  })
  const app = express()
  app.use('/.well-known', server.nodeHandler())
  const at = await startHttp(createHttpServer(app))
  expect(await (await fetch(new URL(metadata.path, at.url))).json()).toEqual(metadata.document)
  await at.close()
})

describe('as a process of its own', () => {
  const children: ChildProcess[] = []
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL')
  })

  test.each(['express', 'fastify', 'hono'])('examples/mount/%s.ts serves, and ends on SIGTERM', async (name) => {
    const child = spawn(process.execPath, ['--conditions=pannier-source', `examples/mount/${name}.ts`], {
      env: { ...process.env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    const [line] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
    const url = /http\S+/.exec(line.toString())?.[0] ?? ''
    expect((await call(url, 'menu')).message.result.content[0].text).toContain('dumplings')
    expect((await fetch(new URL('/', url))).status).toBe(200)
    child.kill('SIGTERM')
    const [code] = (await once(child, 'exit')) as [number]
    expect(code).toBe(0)
  })
})

/** The response as soon as it begins. */
function cook(url: string, args: object, signal?: AbortSignal): Promise<Response> {
  const params = { name: 'cook', arguments: args }
  return open(url, { params, meta: { progressToken: 'p' }, ...(signal !== undefined && { signal }) })
}

function next(result: { requestState?: string }, inputResponses: object) {
  return { params: { inputResponses, requestState: result.requestState } }
}

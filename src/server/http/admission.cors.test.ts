import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Caller } from '../../../test/docs/fixtures/caller.ts'
import { AuthError, createServer } from '../index.ts'

const PAGE = 'https://app.example.com'

const server = createServer({
  name: 'paged',
  version: '1.0.0',
  allowedOrigins: [PAGE],
  principal: ({ header }) => {
    if (header('authorization') === undefined) throw new AuthError('AUTH_MISSING', 'Who are you?')
    return { id: 'ann' }
  },
})
server.tool('count', { description: 'Counts' }, (_, ctx) => {
  ctx.progress(1)
  return 'counted'
})

const mounted = createHttpServer(server.nodeHandler())
const doors: Record<string, { door: (request: Request) => Promise<Response>; url: string }> = {}

beforeAll(async () => {
  await new Promise<void>((resolve) => mounted.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(mounted.address() as AddressInfo).port}/mcp`
  // Node's own fetch, unlike a browser, lets a test say which page it is.
  doors['nodeHandler'] = { door: fetch, url }
  doors['fetch'] = { door: server.fetch, url: 'http://localhost:3000/mcp' }
})
afterAll(() => new Promise((resolve) => mounted.close(resolve)))

describe.each(['nodeHandler', 'fetch'])('through %s a page of an allowed origin', (name) => {
  const find = () => doors[name] as NonNullable<(typeof doors)[string]>

  test('is answered before its call, without credentials', async () => {
    const { door, url } = find()
    const headers = {
      origin: PAGE,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, mcp-method, mcp-param-region',
    }
    const response = await door(new Request(url, { method: 'OPTIONS', headers }))
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-origin')).toBe(PAGE)
    expect(response.headers.get('access-control-allow-methods')).toBe('POST, GET, DELETE')
    expect(response.headers.get('access-control-allow-headers')).toBe('authorization, mcp-method, mcp-param-region')
    expect(response.headers.get('vary')).toBe('origin')
  })

  test.each<[string, Record<string, unknown>, Record<string, string>, number]>([
    ['an answer', {}, { authorization: 'x' }, 200],
    ['a stream', { progressToken: 1 }, { authorization: 'x' }, 200],
    ['a refusal', {}, {}, 401],
  ])('may read %s', async (_, meta, credentials, status) => {
    const { door, url } = find()
    const caller = new Caller(door, { url, meta, headers: { origin: PAGE, ...credentials } })
    const reply = await caller.send('tools/call', { name: 'count', arguments: {} })
    expect(reply.status).toBe(status)
    expect(reply.headers.get('access-control-allow-origin')).toBe(PAGE)
    expect(reply.headers.get('access-control-expose-headers')).toContain('www-authenticate')
  })

  test('is told apart from others', async () => {
    const { door, url } = find()
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const response = await door(new Request(url, { method: 'OPTIONS', headers }))
    expect(response.status).toBe(403)
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
  })
})

test('a caller that is no page gets none of this', async () => {
  const caller = new Caller(server.fetch, { headers: { authorization: 'x' } })
  const reply = await caller.send('tools/call', { name: 'count', arguments: {} })
  expect(reply.headers.get('access-control-allow-origin')).toBeNull()
})

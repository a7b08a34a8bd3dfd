import { describe, expect, test } from 'vitest'
import { createServer } from '../index.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const server = createServer({ name: 'news', version: '1', logger })

function listenTo(served: typeof server, notifications: unknown): Promise<Response> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const method = 'subscriptions/listen'
  const request = new Request('http://server.example/mcp', {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { notifications, _meta } }),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    },
  })
  return served.fetch(request)
}

/** Whether a client may listen to this, or why not. */
async function listened(notifications: unknown): Promise<string> {
  const response = await listenTo(server, notifications)
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel()
    return 'yes'
  }
  return ((await response.json()) as { error: { message: string } }).error.message
}

const uris = (count: number, chars: number) => Array.from({ length: count }, (_, n) => `x://${n}/`.padEnd(chars, '.'))

describe('a client may listen to', () => {
  test.each<[string, unknown, string]>([
    ['so many resources as one may', uris(1000, 12), 'yes'],
    ['no more of them', uris(1001, 12), 'at most'],
    ['addresses of the longest kind', uris(1, 2048), 'yes'],
    ['no longer ones', uris(1, 2049), 'at most'],
    ['so many characters as one may', uris(32, 2048), 'yes'],
    ['no more of them', [...uris(32, 2048), 'x'], 'listen twice'],
    ['no numbers', [7], 'at most'],
    ['no text', 'x://one', 'at most'],
  ])('%s', async (_, resourceSubscriptions, expected) => {
    expect(await listened({ resourceSubscriptions })).toContain(expected)
  })

  test('what it names, and nothing that is not an object', async () => {
    expect(await listened({ toolsListChanged: true })).toBe('yes')
    expect(await listened('tools')).toContain('must be an object')
  })
})

test('a server that has been stopped acknowledges a subscription before it ends it, so that its client listens again', async () => {
  const stopped = createServer({ name: 'news', version: '1', logger })
  await stopped.drain()
  const text = await (await listenTo(stopped, { toolsListChanged: true })).text()
  const messages = text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
  expect(messages).toMatchObject([
    { method: 'notifications/subscriptions/acknowledged', params: { notifications: {} } },
    { method: 'notifications/cancelled', params: { requestId: 1 } },
    { id: 1, result: { resultType: 'complete' } },
  ])
})

import { EventEmitter, once } from 'node:events'
import { createServer, type Listening, type Server } from 'pannier/server'
import { newKey } from 'pannier/state'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { call, eventsOf, open, post, type Wire } from '../fixtures/modernClient.ts'

let server: Server
let at: Listening
const seen = new EventEmitter()

beforeEach(async () => {
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  server = createServer({ name: 'streams', version: '1.0.0', keys: newKey(), logger })
  server.tool('work', { description: 'Works in steps' }, (_, ctx) => {
    for (const done of [1, 1, 2, 3]) ctx.progress(done, 3)
    ctx.log('debug', 'fine print')
    ctx.log('warning', { disk: 'full' }, 'disk')
    return 'done'
  })
  server.tool('wait', { description: 'Waits to be cancelled' }, async (_, ctx) => {
    ctx.progress(1)
    await once(ctx.signal, 'abort')
    seen.emit('aborted')
    return 'never read'
  })
  server.tool('quiet-wait', { description: 'Waits without a stream' }, async (_, ctx) => {
    seen.emit('waiting')
    await once(ctx.signal, 'abort')
    seen.emit('aborted')
    return 'never read'
  })
  server.resource('test://a', { name: 'a' }, () => 'a')
  at = await server.listen()
})

afterEach(() => server.drain({ idleMs: 0 }))

describe('a call', () => {
  test('whose client asked for nothing is answered without a stream', async () => {
    expect((await call(at.url, 'work')).type).toBe('application/json')
  })

  test('tells its progress on a stream, each number once and rising', async () => {
    const { type, messages } = await call(at.url, 'work', {}, { meta: { progressToken: 7 } })
    expect(type).toBe('text/event-stream')
    expect(messages.slice(0, -1).map(({ params }) => [params.progressToken, params.progress])).toEqual([
      [7, 1],
      [7, 2],
      [7, 3],
    ])
    expect(messages.at(-1).result.content[0].text).toBe('done')
  })

  test('logs only from the level its request asked for', async () => {
    const { messages } = await call(at.url, 'work', {}, { meta: { 'io.modelcontextprotocol/logLevel': 'info' } })
    expect(messages.slice(0, -1).map(({ params }) => params)).toEqual([
      { level: 'warning', data: { disk: 'full' }, logger: 'disk' },
    ])
  })

  test('is told nothing on the way when its client takes no stream', async () => {
    const answer = await call(
      at.url,
      'work',
      {},
      { meta: { progressToken: 7 }, headers: { accept: 'application/json' } },
    )
    expect([answer.type, answer.message.result.content[0].text]).toEqual(['application/json', 'done'])
  })

  test.each(['wait', 'quiet-wait'])('%s is cancelled when its client hangs up', async (name) => {
    const abort = new AbortController()
    const aborted = once(seen, 'aborted')
    const begun = name === 'wait' ? undefined : once(seen, 'waiting')
    const answer = open(at.url, { params: { name }, meta: { progressToken: 1 }, signal: abort.signal })
    await (begun ?? answer)
    abort.abort()
    await Promise.allSettled([answer])
    await aborted
    expect((await call(at.url, 'work')).status).toBe(200)
  })
})

describe('a subscription', () => {
  const listen = async (notifications: object) => {
    const response = await open(at.url, { method: 'subscriptions/listen', params: { notifications }, id: 'sub-1' })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const decoder = new TextDecoder()
    let text = ''
    return async (count: number): Promise<Wire[]> => {
      while (eventsOf(text).length < count) {
        const { done, value } = await reader.read()
        if (done) break
        text += decoder.decode(value, { stream: true })
      }
      return eventsOf(text)
    }
  }
  const mark = { _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub-1' } }

  test('is acknowledged first, carries only what was asked for, and ends in good order', async () => {
    const heard = await listen({
      toolsListChanged: true,
      promptsListChanged: false,
      resourceSubscriptions: ['test://a'],
      other: true,
    })
    const [acknowledged] = await heard(1)
    expect(acknowledged).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { ...mark, notifications: { toolsListChanged: true, resourceSubscriptions: ['test://a'] } },
    })
    server.tool('late', { description: 'Comes late' }, () => 'x')
    server.resource('test://b', { name: 'b' }, () => 'b')
    server.updated('test://b')
    server.updated('test://a')
    expect((await heard(3)).slice(1)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: mark },
      { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'test://a', ...mark } },
    ])
    const drained = server.drain()
    // 2026-07-28, Cancellation: "A server MUST send notifications/cancelled referencing a subscriptions/listen request ID
    // when it tears down that subscription stream." Graceful Closure: it SHOULD respond "before closing the stream".
    expect((await heard(5)).slice(3)).toMatchObject([
      { method: 'notifications/cancelled', params: { requestId: 'sub-1', ...mark } },
      { id: 'sub-1', result: { resultType: 'complete', ...mark } },
    ])
    await drained
  })

  const tooLong = Array.from({ length: 33 }, (_, number) => `test://${number}/`.padEnd(2048, '.'))

  test.each([
    [undefined],
    [3],
    [{ resourceSubscriptions: 'x' }],
    [{ resourceSubscriptions: [3] }],
    [{ resourceSubscriptions: tooLong }],
    [{ taskIds: tooLong }],
  ])('with the filter %j is refused', async (notifications) => {
    const { message } = await post(at.url, { method: 'subscriptions/listen', params: { notifications } })
    expect(message.error.code).toBe(-32602)
  })
})

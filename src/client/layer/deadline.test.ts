import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Above, FakeTransport } from '../../../test/client/fixtures/fakeTransport.ts'
import { deadline } from './deadline.ts'

const SILENCE_MS = 150

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function open() {
  const transport = new FakeTransport()
  const above = new Above(deadline(SILENCE_MS)(transport))
  return { transport, above }
}

const timeout = (id: number) => ({ id, error: { code: -32603, data: { code: 'REQUEST_TIMED_OUT' } } })

test('a request that gets no answer ends with an error and is cancelled on the server', async () => {
  const { transport, above } = open()
  await above.send({ id: 1, method: 'tools/list' })
  await vi.advanceTimersByTimeAsync(SILENCE_MS * 2)
  expect(above.heard).toMatchObject([timeout(1)])
  expect(transport.sent[1]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } })
})

test('a cancellation in the stateless revision says who sends it, as its request did', async () => {
  const { transport, above } = open()
  const envelope = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
  await above.send({ id: 1, method: 'tools/list', params: { _meta: { ...envelope, progressToken: 1, other: 2 } } })
  await vi.advanceTimersByTimeAsync(SILENCE_MS * 2)
  expect(transport.sent[1]?.params?.['_meta']).toEqual(envelope)
})

test('where a request has a stream of its own, ending that is the cancellation', async () => {
  const { transport, above } = open()
  const caller = new AbortController()
  await above.send({ id: 1, method: 'tools/list' }, { requestSignal: caller.signal })
  await vi.advanceTimersByTimeAsync(SILENCE_MS * 2)
  expect(above.heard).toMatchObject([timeout(1)])
  expect(transport.options[0]?.['requestSignal']).toMatchObject({ aborted: true })
  expect(transport.sent).toHaveLength(1)
  expect(caller.signal.aborted).toBe(false)
})

test("the caller's own cancellation reaches the transport, and nothing is said afterwards", async () => {
  const { transport, above } = open()
  const caller = new AbortController()
  await above.send({ id: 1, method: 'tools/list' }, { requestSignal: caller.signal })
  caller.abort()
  expect(transport.options[0]?.['requestSignal']).toMatchObject({ aborted: true })
  await vi.advanceTimersByTimeAsync(SILENCE_MS * 2)
  expect(above.heard).toEqual([])
})

test.each([
  ['its answer', { id: 1, result: {} }],
  ['an error', { id: 1, error: { code: -32602, message: 'no' } }],
])('a request is not late after %s', async (_, answer) => {
  const { transport, above } = open()
  await above.send({ id: 1, method: 'tools/list' })
  transport.say(answer)
  await vi.advanceTimersByTimeAsync(SILENCE_MS * 2)
  expect(above.heard).toMatchObject([answer])
})

test('progress of a request begins its time again, and only its own', async () => {
  const { transport, above } = open()
  await above.send({ id: 1, method: 'tools/call', params: { _meta: { progressToken: 'a' } } })
  await above.send({ id: 2, method: 'tools/call', params: { _meta: { progressToken: 'b' } } })
  for (let step = 0; step < 6; step++) {
    await vi.advanceTimersByTimeAsync(SILENCE_MS / 3)
    transport.say({ method: 'notifications/progress', params: { progressToken: 'a', progress: step } })
  }
  const ended = above.heard.filter(({ error }) => error !== undefined)
  expect(ended).toMatchObject([timeout(2)])
})

test.each([
  ['of no request', { progress: 1 }, [timeout(1)]],
  ['under another spelling of the token', { progressToken: '7', progress: 1 }, []],
])('progress %s', async (_, params, ended) => {
  const { transport, above } = open()
  await above.send({ id: 1, method: 'tools/call', params: { _meta: { progressToken: 7 } } })
  for (let step = 0; step < 6; step++) {
    await vi.advanceTimersByTimeAsync(SILENCE_MS / 3)
    transport.say({ method: 'notifications/progress', params })
  }
  expect(above.heard.filter(({ error }) => error !== undefined)).toMatchObject(ended)
})

test('a server that only pings is silent', async () => {
  const { transport, above } = open()
  await above.send({ id: 1, method: 'tools/call' })
  for (let id = 0; id < 6; id++) {
    await vi.advanceTimersByTimeAsync(SILENCE_MS / 3)
    transport.say({ id, method: 'ping' })
    await above.send({ id, result: {} })
  }
  expect(above.heard.filter(({ error }) => error !== undefined)).toMatchObject([timeout(1)])
})

test('a request that was given up before it came here is not sent', async () => {
  const { transport, above } = open()
  const requestSignal = AbortSignal.abort(new Error('given up'))
  await expect(above.send({ id: 1, method: 'tools/call' }, { requestSignal })).rejects.toThrow('given up')
  expect(transport.sent).toEqual([])
})

test.each([0, -1, Number.NaN])('no deadline can be %s', (silenceMs) => {
  expect(() => deadline(silenceMs)).toThrow('A deadline must be a number of milliseconds above 0.')
})

test('a deadline that is longer than timers take is a long one', async () => {
  const transport = new FakeTransport()
  const above = new Above(deadline(Number.POSITIVE_INFINITY)(transport))
  await above.send({ id: 1, method: 'tools/call' })
  await vi.advanceTimersByTimeAsync(86_400_000)
  expect([above.heard, vi.getTimerCount()]).toEqual([[], 1])
})

test('time stands still while the server waits for an answer of ours', async () => {
  const { transport, above } = open()
  await above.send({ id: 1, method: 'tools/call' })
  transport.say({ id: 'q', method: 'elicitation/create', params: { message: 'Sure?' } })
  await vi.advanceTimersByTimeAsync(SILENCE_MS * 3)
  expect(above.heard).toMatchObject([{ id: 'q' }])
  await above.send({ id: 'q', result: { action: 'accept' } })
  await vi.advanceTimersByTimeAsync(SILENCE_MS * 2)
  expect(above.heard).toMatchObject([{ id: 'q' }, timeout(1)])
})

test.each([
  ['a question that the server took back', {}, { method: 'notifications/cancelled', params: { requestId: 'q' } }],
  [
    'a request of a server in a revision that has none',
    { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' },
    {},
  ],
])('%s does not make time stand still', async (_, _meta, next) => {
  const { transport, above } = open()
  await above.send({ id: 1, method: 'tools/call', params: { _meta } })
  transport.say({ id: 'q', method: 'elicitation/create', params: { message: 'Sure?' } })
  transport.say(next)
  await vi.advanceTimersByTimeAsync(SILENCE_MS * 3)
  expect(above.heard.at(-1)).toMatchObject(timeout(1))
})

test('an answer under another spelling of the id is one', async () => {
  const { transport, above } = open()
  await above.send({ id: 1, method: 'tools/list' })
  transport.say({ id: '1', result: {} })
  await vi.advanceTimersByTimeAsync(SILENCE_MS * 2)
  expect(above.heard).toMatchObject([{ id: '1' }])
})

test('a request whose stream ends without its answer fails at once, and one that was answered does not', async () => {
  const { transport, above } = open()
  const ends: unknown[] = []
  for (const id of [1, 2]) {
    await above.send({ id, method: 'tools/call' }, { onRequestStreamEnd: () => ends.push(id) })
  }
  transport.say({ id: 2, result: {} })
  for (const options of transport.options) Reflect.apply(options?.['onRequestStreamEnd'] as () => void, undefined, [])
  expect(ends).toEqual([1, 2])
  expect(above.heard).toMatchObject([{ id: 2 }, { id: 1, error: { data: { code: 'STREAM_ENDED' } } }])
})

test.each([
  [undefined, 'The connection ended before the answer came; the request may have had effects.'],
  [
    'its process ended with exit code 9.',
    'The server gave no answer: its process ended with exit code 9. The request may have had effects.',
  ],
])('requests under way fail at once with a connection that is lost (%s)', async (how, message) => {
  const transport = new FakeTransport()
  const above = new Above(deadline(SILENCE_MS, { ended: () => how })(transport))
  await above.send({ id: 1, method: 'tools/call' })
  await above.send({ id: 2, method: 'subscriptions/listen' })
  transport.onclose?.()
  expect(above.heard).toMatchObject([{ id: 1, error: { message, data: { code: 'STREAM_ENDED' } } }])
})

test('a subscription may be silent for ever, and a closed connection has no time', async () => {
  const { transport, above } = open()
  await above.send({ id: 1, method: 'subscriptions/listen' })
  await above.send({ id: 2, method: 'tools/list' })
  await above.transport.close()
  await vi.advanceTimersByTimeAsync(SILENCE_MS * 2)
  expect(above.heard).toEqual([])
  expect(transport.sent).toHaveLength(2)
})

test('a request that cannot be sent fails as it would without a deadline', async () => {
  const { transport, above } = open()
  transport.react = () => {
    throw new Error('cut')
  }
  await expect(above.send({ id: 1, method: 'tools/list' })).rejects.toThrow('cut')
  await vi.advanceTimersByTimeAsync(SILENCE_MS * 2)
  expect(above.heard).toEqual([])
})

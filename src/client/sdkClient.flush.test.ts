import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Above, FakeTransport } from '../../test/client/fixtures/fakeTransport.ts'
import { flushOnClose } from './sdkClient.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A client whose messages take until the test says so. */
function begin(endSession = vi.fn(async () => {})) {
  const wire = new FakeTransport()
  const sent = Promise.withResolvers<void>()
  wire.send = () => sent.promise
  const closing = flushOnClose(endSession)
  const above = new Above(closing.layer(wire))
  return { closing, above, endSession, sent: () => sent.resolve() }
}

async function isOver(work: Promise<unknown>, ms: number): Promise<boolean> {
  let over = false
  void work.then(() => (over = true))
  await vi.advanceTimersByTimeAsync(ms)
  return over
}

test.each([
  ['a notification', { method: 'notifications/cancelled' }, true],
  ['a response', { id: 1, result: {} }, true],
  ['the cancellation of a task', { id: 1, method: 'tasks/cancel' }, true],
  ['another request, whose answer may never come', { id: 1, method: 'tools/call' }, false],
])('%s that is being sent is waited for: %s', async (_, message, isAwaited) => {
  const { closing, above, endSession, sent } = begin()
  expect(closing.isClosing()).toBe(false)
  void above.send(message)
  const flushed = closing.flush()
  expect(closing.isClosing()).toBe(true)
  expect([await isOver(flushed, 999), endSession.mock.calls.length]).toEqual(isAwaited ? [false, 0] : [true, 1])
  sent()
  expect([await isOver(flushed, 0), endSession.mock.calls.length]).toEqual([true, 1])
})

test('sending and the end of the session have a second each', async () => {
  const { closing, above, endSession } = begin(vi.fn(() => new Promise<void>(() => {})))
  void above.send({ method: 'notifications/cancelled' })
  const flushed = closing.flush()
  expect([await isOver(flushed, 999), endSession.mock.calls.length]).toEqual([false, 0])
  expect([await isOver(flushed, 1), endSession.mock.calls.length]).toEqual([false, 1])
  expect(await isOver(flushed, 999)).toBe(false)
  expect(await isOver(flushed, 1)).toBe(true)
})

test('a session that cannot be ended keeps nobody from closing, and what was sent is not waited for', async () => {
  const { closing, above, sent } = begin(vi.fn(() => Promise.reject(new Error('gone'))))
  const sending = above.send({ method: 'notifications/cancelled' })
  sent()
  await sending
  expect(await isOver(closing.flush(), 0)).toBe(true)
})

import { expect, test, vi } from 'vitest'
import { LiveCalls } from './liveCalls.ts'

const call = () => ({ cancel: vi.fn<() => void>() })

test('a call is cancelled by its session and id, while it is under way', () => {
  const live = new LiveCalls(Date.now)
  const [one, two] = [call(), call()]
  const leave = live.enter('s', 1, one)
  live.enter('s', 2, two)
  expect([live.cancel('s', 1), live.cancel('other', 1), live.cancel('s', 3)]).toEqual([true, false, false])
  expect([one.cancel.mock.calls.length, two.cancel.mock.calls.length]).toEqual([1, 0])
  leave()
  expect(live.cancel('s', 1)).toBe(false)
  live.cancelAll('s')
  live.cancelAll('other')
  expect([one.cancel.mock.calls.length, two.cancel.mock.calls.length]).toEqual([1, 1])
})

test('a call outside of sessions cannot be cancelled, and nobody waits for it', async () => {
  const live = new LiveCalls(Date.now)
  const leave = live.enter(undefined, 1, call())
  await live.idle()
  expect(live.cancel('', 1)).toBe(false)
  leave()
})

test('a later call under the same id stays when the earlier one leaves', () => {
  const live = new LiveCalls(Date.now)
  const leave = live.enter('s', 1, call())
  live.enter('s', 1, call())
  leave()
  expect(live.cancel('s', 1)).toBe(true)
})

test('it is idle when the last call of the last session has left', async () => {
  const live = new LiveCalls(Date.now)
  const leaves = [live.enter('a', 1, call()), live.enter('a', 2, call()), live.enter('b', 1, call())]
  let isIdle = false
  const idle = live.idle().then(() => (isIdle = true))
  for (const leave of leaves) {
    await Promise.resolve()
    expect(isIdle).toBe(false)
    leave()
  }
  await idle
  expect(isIdle).toBe(true)
})

test('a cancellation that overtakes its call is remembered for half a minute', () => {
  let now = 0
  const live = new LiveCalls(() => now)
  live.enter('s', 1, call())
  for (const id of [1, 2]) live.cancelSoon('s', id)
  const cancelled = () => [live.wasCancelled('s', 1), live.wasCancelled('s', 2), live.wasCancelled('s', '2')]
  expect([...cancelled(), live.wasCancelled(undefined, 2)]).toEqual([false, true, false, false])
  now += 30_000
  expect(cancelled()).toEqual([false, false, false])
})

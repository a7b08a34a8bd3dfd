import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { inTime, Waiters } from './waiting.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('all that wait wake together, and those that come later wait', async () => {
  const waiters = new Waiters()
  const woken: string[] = []
  void waiters.wait().then(() => woken.push('first'))
  void waiters.wait(1000).then(() => woken.push('second'))
  waiters.wakeAll()
  void waiters.wait().then(() => woken.push('late'))
  await vi.advanceTimersByTimeAsync(2000)
  expect(woken).toEqual(['first', 'second'])
})

test('a wait ends after its time', async () => {
  const waited = vi.fn()
  void new Waiters().wait(1000).then(waited)
  await vi.advanceTimersByTimeAsync(999)
  expect(waited).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(waited).toHaveBeenCalledOnce()
})

test('work that takes too long is rejected, and leaves no timer', async () => {
  const late = (): Error => new Error('It is late.')
  expect(await inTime(Promise.resolve(7), 1000, late)).toBe(7)
  const never = inTime(new Promise(() => {}), 1000, late).catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(1000)
  expect(await never).toEqual(late())
  expect(vi.getTimerCount()).toBe(0)
})

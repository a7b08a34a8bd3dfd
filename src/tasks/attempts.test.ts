import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { aloneMs, isSuspect, retryMs, SuspectSlot } from './attempts.ts'
import { leaseLost } from './errors.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test.each([
  [1, false, 0],
  [2, true, 250],
  [3, true, 500],
  [8, true, 16_000],
  [9, true, 30_000],
  [20, true, 30_000],
])(
  'a task that has lost %i processes in a row is a suspect: %s, after a pause of %i ms',
  (attempts, suspect, pause) => {
    expect([isSuspect(attempts), retryMs(attempts)]).toEqual([suspect, pause])
  },
)

test.each([
  [2, 500],
  [3, 1000],
  [8, 32_000],
  [9, 60_000],
])('beside a suspect that has lost %i processes nothing is claimed for %i ms', (attempts, ms) => {
  expect(aloneMs(attempts)).toBe(ms)
})

function taken(record: () => Promise<void> = async () => {}) {
  const onFree = vi.fn<() => void>()
  const recorded = vi.fn<() => Promise<void>>(record)
  const slot = new SuspectSlot(onFree)
  const lease = {}
  slot.take(lease, 2, recorded)
  return { slot, lease, onFree, recorded }
}

test('a slot is taken until its suspect makes progress, and then it is the turn of others, once', async () => {
  const { slot, lease, onFree, recorded } = taken()
  slot.free({})
  expect([slot.isTaken, slot.takeTurn()]).toEqual([true, false])
  slot.free(lease)
  expect([slot.isTaken, slot.takeTurn(), slot.takeTurn()]).toEqual([false, true, false])
  await vi.advanceTimersByTimeAsync(aloneMs(2))
  expect([onFree.mock.calls.length, recorded.mock.calls.length]).toEqual([1, 0])
})

test('a slot is free after a time, once that is recorded', async () => {
  const errors: Error[] = [new Error('The store is away.')]
  const { slot, recorded } = taken(async () => {
    const error = errors.pop()
    if (error !== undefined) throw error
  })
  await vi.advanceTimersByTimeAsync(aloneMs(2))
  expect([slot.isTaken, recorded.mock.calls.length]).toEqual([true, 1])
  // The pause before the next try is a timer of its own.
  await vi.advanceTimersByTimeAsync(1000)
  await vi.waitFor(() => expect([slot.isTaken, recorded.mock.calls.length]).toEqual([false, 2]))
})

test('a lease that was lost does not keep the slot', async () => {
  const { slot } = taken(() => Promise.reject(leaseLost('cancelled')))
  await vi.advanceTimersByTimeAsync(aloneMs(2))
  expect(slot.isTaken).toBe(false)
})

import { expect, test } from 'vitest'
import { pauseBeforePoll, pauseBeforeRetry } from './schedule.ts'

const task = (pollIntervalMs?: number) =>
  ({ taskId: 't', status: 'working', ttlMs: null, ...(pollIntervalMs !== undefined && { pollIntervalMs }) }) as const

test.each([
  [200, 200],
  [60_000, 60_000],
  [1, 100],
  [1e15, 3_600_000],
])('a server that wishes %i ms is looked at after %i', (wished, pause) => {
  expect(pauseBeforePoll(task(wished), 0)).toBe(pause)
  expect(pauseBeforePoll(task(wished), 100)).toBe(pause)
})

test.each([undefined, 0])('a server that wishes %s is looked at more and more seldom', (wished) => {
  const pauses = [0, 1, 2, 5, 10, 1000].map((looks) => pauseBeforePoll(task(wished), looks))
  expect(pauses).toEqual(pauses.toSorted((a, b) => a - b))
  expect([pauses[0], pauses.at(-1)]).toEqual([250, 5_000])
})

test('what fails is tried again after growing pauses', () => {
  expect([1, 2, 3, 20].map(pauseBeforeRetry)).toEqual([250, 500, 1_000, 10_000])
})

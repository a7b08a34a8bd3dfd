import { expect, onTestFinished, test, vi } from 'vitest'
import { backoffMs, inSlices, MAX_TIMER_MS, runLater, unref } from './timers.ts'

test.each([
  [1, 100],
  [2, 200],
  [3, 400],
  [4, 500],
  [5000, 500],
])('before retry %i the pause is %i ms, at most the longest one', (attempt, pauseMs) => {
  expect(backoffMs(attempt, { firstMs: 100, maxMs: 500 })).toBe(pauseMs)
})

test('another factor lets pauses grow more slowly', () => {
  expect([1, 2, 3].map((attempt) => backoffMs(attempt, { firstMs: 100, maxMs: 1000, factor: 1.5 }))).toEqual([
    100, 150, 225,
  ])
})

test('a timer of the longest time does not fire at once', async () => {
  let hasFired = false
  const timer = setTimeout(() => {
    hasFired = true
  }, MAX_TIMER_MS)
  await new Promise((resolve) => setTimeout(resolve, 5))
  clearTimeout(timer)
  expect(hasFired).toBe(false)
})

test('unref takes a timer of Node and one that is a number, and gives it back', () => {
  const timer = setTimeout(() => {}, 1000)
  expect(unref(timer)).toBe(timer)
  expect(timer.hasRef()).toBe(false)
  clearTimeout(timer)
  expect(unref(7)).toBe(7)
})

test('runLater runs a function after what was ready before, also as a member of an object', async () => {
  const order: string[] = []
  const options = { later: runLater }
  await new Promise<void>((resolve) => {
    options.later(() => resolve(void order.push('later')))
    void Promise.resolve()
      .then(() => {})
      .then(() => order.push('ready'))
  })
  expect(order).toEqual(['ready', 'later'])
})

test('the event loop turns after each slice, however much is processed in slices at once', async () => {
  let [now, turn] = [0, 0]
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 100)) // each item is a slice
  onTestFinished(() => clock.mockRestore())
  const count = (): void => runLater(() => ++turn < 100 && count())
  count()
  const turns: number[] = []
  await Promise.all(Array.from({ length: 10 }, () => inSlices([1, 2, 3], () => turns.push(turn))))
  const later = turns.slice(10) // all begin in the same turn
  expect(later).toHaveLength(20)
  expect(new Set(later).size).toBe(20)
})

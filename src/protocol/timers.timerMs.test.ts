import { expect, test } from 'vitest'
import { timerMs } from './timers.ts'

test.each([0, -1, Number.NaN])('a delay of %d is refused by its name', (ms) => {
  expect(() => timerMs(ms, 'timeoutMs')).toThrow('timeoutMs must be a number of milliseconds above 0.')
})

test('a delay is what it was told, or the longest that a timer can take', () => {
  expect([timerMs(0.5, 'x'), timerMs(7, 'x'), timerMs(Infinity, 'x')]).toEqual([0.5, 7, 2 ** 31 - 1])
})

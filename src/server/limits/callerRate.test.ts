import { expect, test } from 'vitest'
import { CallerRate } from './callerRate.ts'

test('a group may do ten times as much within a second as one caller', () => {
  let now = 0
  const rate = new CallerRate(2, () => now)
  expect(['net\na', 'net\na', 'net\na', 'other'].map((caller) => rate.take(caller))).toEqual([true, true, false, true])
  const many = Array.from({ length: 30 }, (_, index) => rate.take(`net\n${index}`))
  expect(many.filter(Boolean).length).toBe(17)
  now = 1000
  expect(rate.take('net\na')).toBe(true)
})

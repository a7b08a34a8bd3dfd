import { expect, test } from 'vitest'
import { pauseAfter } from './judge.ts'

test.each([
  ['that was judged', 0, 3_600_000],
  ['that could not be judged once', 1, 30_000],
  ['that could not be judged twice', 2, 60_000],
  ['that can never be judged', 100, 3_600_000],
])('a server %s is probed again after a while', (_, failures, ms) => {
  expect(pauseAfter(failures)).toBe(ms)
})

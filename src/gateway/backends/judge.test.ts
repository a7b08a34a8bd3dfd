import { expect, test } from 'vitest'
import { pauseAfter, pauseAfterDoubts } from './judge.ts'

test.each([
  ['that was judged', 0, 3_600_000],
  ['that could not be judged once', 1, 30_000],
  ['that could not be judged twice', 2, 60_000],
  ['that can never be judged', 100, 3_600_000],
])('a server %s is probed again after a while', (_, failures, ms) => {
  expect(pauseAfter(failures)).toBe(ms)
})

test.each([
  ['changed the verdict', 0, 1000],
  ['changed nothing', 1, 2000],
  ['changed nothing for the tenth time', 10, 1_024_000],
  ['never change anything', 100, 3_600_000],
])('after doubts that %s a server is probed again', (_, needless, ms) => {
  expect(pauseAfterDoubts(needless)).toBe(ms)
})

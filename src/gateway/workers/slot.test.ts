import { expect, test } from 'vitest'
import { restartPauseMs } from './slot.ts'

test('a worker that ends again and again is started after longer and longer pauses, one that has lived at once', () => {
  const pauses = [0]
  for (let end = 0; end < 10; end++) pauses.push(restartPauseMs(pauses.at(-1) ?? 0, 500))
  expect(pauses.slice(1)).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000])
  expect(restartPauseMs(30_000, 60_000)).toBe(100)
})

import { expect, test } from 'vitest'
import { newInstanceId } from './instance.ts'

test('the id of a process that starts later is greater, and no two are the same', () => {
  const times = [0, 1, 35, 36, 1_000_000, Date.UTC(2026, 10, 18), Date.UTC(2026, 10, 18) + 1, Date.UTC(2200, 0, 1)]
  const ids = times.map(newInstanceId)
  expect(ids.toSorted()).toEqual(ids)
  expect(newInstanceId(1)).not.toBe(newInstanceId(1))
})

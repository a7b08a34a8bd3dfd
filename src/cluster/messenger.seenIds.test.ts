import { expect, test } from 'vitest'
import { SeenIds } from './messenger.ts'

function begin() {
  const time = { nowMs: 1_000_000 }
  return { time, seen: new SeenIds(() => time.nowMs, 10) }
}

test('an id is new once, for at least as long as it is kept', () => {
  const { time, seen } = begin()
  time.nowMs += 10_000
  expect([seen.add('a'), seen.add('a'), seen.add('b')]).toEqual([true, false, true])
  time.nowMs += 10_000
  expect([seen.add('a'), seen.add('c')]).toEqual([false, true])
  time.nowMs += 10_000
  expect(seen.add('c')).toBe(false)
})

test('an id is forgotten after twice that time at most, also when nothing came meanwhile', () => {
  const { time, seen } = begin()
  seen.add('a')
  time.nowMs += 20_000
  expect(seen.add('a')).toBe(false)
  const later = begin()
  later.seen.add('a')
  later.time.nowMs += 20_001
  expect(later.seen.add('a')).toBe(true)
})

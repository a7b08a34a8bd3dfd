import { expect, test } from 'vitest'
import type { ServerEvent } from '../../lifecycle/eventBus.ts'
import { RecentEvents } from './recent.ts'

const event = (id: string) => ({ kind: 'cancelled', id }) as unknown as ServerEvent
const other = { kind: 'toolsChanged' } as unknown as ServerEvent

function begin() {
  const time = { nowMs: 1_000_000 }
  const recent = new RecentEvents(() => time.nowMs)
  return { time, recent, ids: () => recent.cancellations().map((each) => (each as unknown as { id: string }).id) }
}

test('events of the last five seconds are there for whoever is met now, in their order', () => {
  const { time, recent, ids } = begin()
  recent.push(event('a'))
  time.nowMs += 5000
  recent.push(other)
  recent.push(event('b'))
  time.nowMs += 1
  recent.push(event('c'))
  expect(ids()).toEqual(['a', 'b', 'c'])
  time.nowMs += 5001
  expect(ids()).toEqual(['c'])
})

test('after ten seconds of silence nothing is left', () => {
  const { time, recent, ids } = begin()
  recent.push(event('a'))
  time.nowMs += 10_000
  expect(ids()).toEqual(['a'])
  const later = begin()
  later.recent.push(event('a'))
  later.time.nowMs += 10_001
  expect(later.ids()).toEqual([])
})

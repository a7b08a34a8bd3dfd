import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ClusterBus, ClusterEvent } from './events.ts'
import { Self, writeInstance } from './instance.ts'
import { Owners } from './owners.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A bus that all instances of a test share. */
function common(): ClusterBus & { readonly events: ClusterEvent[] } {
  const listeners = new Set<(event: ClusterEvent) => void>()
  const events: ClusterEvent[] = []
  return {
    events,
    publish: (event) => {
      events.push(event)
      for (const listener of listeners) listener(event)
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function begin(name: string, bus: ClusterBus = common()) {
  const self = new Self(`http://${name}/mcp`)
  const hear = (event: ClusterEvent): void => bus.publish(event)
  return { self, hear, owners: new Owners({ self, bus, ttlSeconds: 60, clock: Date.now }) }
}

test('a new owner is known to all from its announcement, for as long as a state lives', () => {
  const bus = common()
  const [first, second] = [begin('a', bus), begin('b', bus)]
  second.owners.change(['call', 'stream'], second.self)
  expect([first.owners.get('call')?.id, first.owners.get('stream')?.id]).toEqual([second.self.id, second.self.id])
  expect([first.owners.isOwn('call'), second.owners.isOwn('call')]).toEqual([false, true])
  vi.advanceTimersByTime(60_000)
  expect([first.owners.get('call'), second.owners.get('call')]).toEqual([undefined, undefined])
})

test('an owner that is looked for announces itself: what it took, and what it has; no other does', async () => {
  const bus = common()
  const [first, second] = [begin('a', bus), begin('b', bus)]
  second.owners.note(['taken'], second.self)
  second.owners.add({ has: (key) => key === 'begun' })
  for (const [key, isFound] of [
    ['taken', true],
    ['begun', true],
    ['other', false],
  ] as const) {
    const found = first.owners.seek(key, () => first.owners.get(key) !== undefined)
    await vi.advanceTimersByTimeAsync(3000)
    expect([key, await found]).toEqual([key, isFound])
  }
})

test('a search asks five times a second for three seconds, and several for one thing ask together', async () => {
  const bus = common()
  const { owners } = begin('a', bus)
  const searches = [owners.seek('call', () => false), owners.seek('call', () => false)]
  await vi.advanceTimersByTimeAsync(3000)
  expect(await Promise.all(searches)).toEqual([false, false])
  expect(bus.events).toEqual(Array.from({ length: 15 }, () => ({ kind: 'owner-wanted', key: 'call' })))
})

test('an announcement of an earlier owner that comes late changes nothing where the thing is', () => {
  const bus = common()
  const { self, owners } = begin('a', bus)
  const moved = vi.fn()
  owners.add({ has: (key) => key === 'begun', moved })
  owners.note(['taken'], self)
  const earlier = writeInstance(new Self('http://before/mcp'))
  for (const keys of [['taken', 'begun'], 'nonsense']) bus.publish({ kind: 'owner-changed', keys, to: earlier })
  bus.publish({ kind: 'owner-changed', keys: ['taken'], to: 'nonsense' })
  expect([owners.isOwn('taken'), owners.get('begun'), moved.mock.calls]).toEqual([true, undefined, []])
})

test('a former owner that announces its successor late changes nothing where a later owner is known', () => {
  const bus = common()
  const [first, second, third, other] = [begin('a', bus), begin('b', bus), begin('c', bus), begin('d')]
  first.owners.change(['call'], second.self)
  second.owners.change(['call'], third.self)
  for (const event of [...bus.events, ...bus.events.slice(0, 1)]) other.hear(event)
  expect(other.owners.get('call')?.id).toBe(third.self.id)
})

test('who left a thing hears of its next owner, and tells those that wait for the thing', () => {
  const bus = common()
  const [first, second] = [begin('a', bus), begin('b', bus)]
  const moved = vi.fn()
  first.owners.add({ has: () => false, moved })
  first.owners.note(['call'], first.self)
  first.owners.leave(['call', 'unknown'])
  second.owners.change(['call'], second.self)
  expect(first.owners.get('call')?.id).toBe(second.self.id)
  expect(moved.mock.calls).toEqual([['call', expect.objectContaining({ id: second.self.id })]])
})

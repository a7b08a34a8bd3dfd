import { expect, test } from 'vitest'
import { type ClusterEvent, EventQueue } from './events.ts'

/** An event of exactly so many characters. */
function eventOf(chars: number): ClusterEvent {
  const empty = JSON.stringify({ kind: 'updated', uri: '' }).length
  return { kind: 'updated', uri: 'x'.repeat(chars - empty) }
}

function queueOf(...chars: number[]): EventQueue {
  const queue = new EventQueue()
  for (const each of chars) queue.push(eventOf(each))
  return queue
}

const lengths = (events: readonly ClusterEvent[]): number[] => events.map((event) => JSON.stringify(event).length)
const times = (count: number, chars: number): number[] => Array.from({ length: count }, () => chars)

test('an event may have 100,000 characters, and a larger one is dropped', () => {
  expect(lengths(queueOf(100_000, 100_001, 50).take())).toEqual([100_000, 50])
})

test('a message has 200 events at most, in their order', () => {
  const queue = queueOf(...Array.from({ length: 201 }, (_, n) => 50 + n))
  expect(lengths(queue.take())).toEqual(Array.from({ length: 200 }, (_, n) => 50 + n))
  expect([queue.isEmpty, lengths(queue.take()), queue.isEmpty]).toEqual([false, [250], true])
})

test('a message has a million characters at most', () => {
  expect(queueOf(...times(10, 100_000)).take()).toHaveLength(10)
  expect(queueOf(...times(10, 100_000), 50).take()).toHaveLength(10)
})

test('of more than 10,000 events that wait the oldest are dropped', () => {
  const queue = queueOf(60, 70, ...times(9_999, 50))
  expect(lengths(queue.take()).slice(0, 2)).toEqual([70, 50])
})

test('of more than 16 million characters that wait the oldest are dropped, and what was taken makes room', () => {
  const queue = queueOf(60, ...times(159, 100_000), 99_940)
  expect(lengths(queue.take())[0]).toBe(60)
  queue.push(eventOf(100_000))
  expect(lengths(queue.take())[0]).toBe(100_000)
  const full = queueOf(60, 70, ...times(159, 100_000), 99_900)
  expect(lengths(full.take())[0]).toBe(70)
})

test('what is kept since a time has no older events, in their order', () => {
  const queue = new EventQueue()
  const of = (id: string): ClusterEvent => ({ kind: 'cancelled', id })
  queue.push(of('a'), 1000)
  queue.push(of('b'), 2000)
  queue.push(of('c'), 2001)
  expect(queue.since(1000).map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  queue.dropBefore(1001)
  expect(queue.since(2000).map(({ id }) => id)).toEqual(['b', 'c'])
  expect([queue.since(2002), queue.isEmpty]).toEqual([[], true])
})

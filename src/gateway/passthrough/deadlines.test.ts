import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Deadlines } from './deadlines.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

test('each request is late after its own time, and one that has ended is not', () => {
  const deadlines = new Deadlines(100)
  const late: string[] = []
  const request = (name: string) => ({ queued: undefined, late: () => void late.push(name) })
  const [first, second, third, fourth] = ['first', 'second', 'third', 'fourth'].map(request)
  if (!first || !second || !third || !fourth) throw new Error('There are four.')
  deadlines.add(first)
  vi.advanceTimersByTime(60)
  deadlines.add(second)
  deadlines.add(third)
  vi.advanceTimersByTime(41)
  expect(late).toEqual(['first'])
  deadlines.delete(second)
  vi.advanceTimersByTime(60)
  expect(late).toEqual(['first', 'third'])
  deadlines.add(fourth)
  deadlines.delete(fourth)
  vi.advanceTimersByTime(500)
  expect(late).toEqual(['first', 'third'])
  expect(vi.getTimerCount()).toBe(0)
})

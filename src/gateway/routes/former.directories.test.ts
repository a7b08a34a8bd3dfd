import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { RouteDirectory } from './directory.ts'
import { FormerDirectories } from './former.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A directory in which every tool is found under this name. */
function directory(name: string, hasLegacyServer = false): RouteDirectory {
  const frozen = { tool: () => ({ name }), hasLegacyServer }
  return { frozen: () => frozen } as unknown as RouteDirectory
}

const names = (former: FormerDirectories) => former.all((each) => each.tool('any')).map(({ name }) => name)

test('what names led to is kept for 25 seconds, the latest first', () => {
  const former = new FormerDirectories()
  former.keep(directory('first'))
  vi.advanceTimersByTime(10_000)
  former.keep(directory('second'))
  expect(names(former)).toEqual(['second', 'first'])
  vi.advanceTimersByTime(15_000)
  expect(names(former)).toEqual(['second'])
  vi.advanceTimersByTime(10_000)
  expect(names(former)).toEqual([])
})

test('of a file that is written again and again the last eight are kept', () => {
  const former = new FormerDirectories()
  for (let time = 1; time <= 20; time++) former.keep(directory(`${time}`))
  expect(names(former)).toEqual(['20', '19', '18', '17', '16', '15', '14', '13'])
})

test('calls may be parked where a server asks in place', () => {
  const former = new FormerDirectories()
  former.keep(directory('stateless'))
  expect(former.mayHaveParked).toBe(false)
  former.keep(directory('session', true))
  expect(former.mayHaveParked).toBe(true)
  vi.advanceTimersByTime(25_000)
  expect(former.mayHaveParked).toBe(false)
})

/** What an engine does while nothing happens. */
import { StatementSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { TaskEngine } from '../engine.ts'
import { sqliteEngine } from './engine.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const silent = { debug() {}, info() {}, warn() {}, error() {} }

async function opened(): Promise<TaskEngine> {
  const engine = sqliteEngine({ path: ':memory:' })
  await engine.open({ audience: 'idle', logger: () => silent })
  return engine
}

/** How often the engine looks in 100 ms whether another process has written. */
function looks(): number {
  const all = vi.spyOn(StatementSync.prototype, 'all')
  vi.advanceTimersByTime(100)
  const count = (all.mock.contexts as StatementSync[]).filter(({ sourceSQL }) => sourceSQL.includes('data_version'))
  all.mockRestore()
  return count.length
}

test('an engine looks for writes of other processes while it has watchers, and not without', async () => {
  const engine = await opened()
  expect(looks()).toBe(0)
  const [one, other] = [engine.watch('a', () => {}), engine.watch('b', () => {})]
  expect(looks()).toBe(5)
  one()
  expect(looks()).toBe(5)
  other()
  expect(looks()).toBe(0)
  await engine.close()
})

test('an engine with a worker looks for writes of other processes until it is closed', async () => {
  const engine = await opened()
  engine.work({ tools: ['chore'], concurrency: 1, run: async () => {} })
  expect(looks()).toBe(5)
  engine.watch('a', () => {})()
  expect(looks()).toBe(5)
  await engine.close()
  expect([looks(), vi.getTimerCount()]).toEqual([0, 0])
})

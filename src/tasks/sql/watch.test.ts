/** Watched tasks over a database that only knows their versions, by a clock that the test moves. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { TaskDriver } from './driver.ts'
import type { TaskStore } from './store.ts'
import { Watchers } from './watch.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function begin() {
  const versions = new Map<string, number>()
  const asked: number[] = []
  const logged: string[] = []
  const driver = {
    isAway: false,
    watchPollMs: 2000 as number | undefined,
    key: (...texts: string[]) => texts.join(' '),
    read: async (_: string, [addresses]: [string[]]) => {
      asked.push(addresses.length)
      if (driver.isAway) throw new Error('away')
      return addresses.flatMap((address) => {
        const version = versions.get(address)
        return version === undefined ? [] : [{ address, version: String(version) }]
      })
    },
  }
  const logger = () => ({
    debug() {},
    info() {},
    warn() {},
    error: (_: object, text: string) => void logged.push(text),
  })
  const sql = { tasks: 'tasks', now: 'now', among: () => 'true' }
  const store = { driver: driver as unknown as TaskDriver, sql, audience: 'a', logger } as unknown as TaskStore
  const set = (id: string, version: number) => versions.set(`a ${id}`, version)
  return { watchers: new Watchers(store), driver, asked, logged, set }
}

test('a change without an event is found by polling, and each once', async () => {
  const { watchers, asked, set } = begin()
  set('one', 1)
  const heard = vi.fn<() => void>()
  watchers.watch('one', heard)
  await vi.advanceTimersByTimeAsync(1999)
  expect(asked).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect([asked, heard.mock.calls.length]).toEqual([[1], 1])
  await vi.advanceTimersByTimeAsync(2000)
  expect([asked, heard.mock.calls.length]).toEqual([[1, 1], 1])
  set('one', 2)
  await vi.advanceTimersByTimeAsync(2000)
  expect(heard).toHaveBeenCalledTimes(2)
  watchers.close()
  await vi.advanceTimersByTimeAsync(4000)
  expect(asked).toHaveLength(3)
})

test('where no events are missed, nothing is polled', async () => {
  const { watchers, driver, asked } = begin()
  driver.watchPollMs = undefined
  watchers.watch('one', () => {})
  await vi.advanceTimersByTimeAsync(5000)
  expect([asked, watchers.size]).toEqual([[], 1])
  watchers.close()
})

test('a task that does not exist is told once, and again when it does', async () => {
  const { watchers, set } = begin()
  const heard = vi.fn<() => void>()
  watchers.watch('one', heard)
  await vi.advanceTimersByTimeAsync(4000)
  expect(heard).toHaveBeenCalledTimes(1)
  set('one', 1)
  await vi.advanceTimersByTimeAsync(2000)
  expect(heard).toHaveBeenCalledTimes(2)
  watchers.close()
})

test('a database that is away is asked again, and nobody hears of it', async () => {
  const { watchers, driver, set } = begin()
  set('one', 1)
  const heard = vi.fn<() => void>()
  watchers.watch('one', heard)
  driver.isAway = true
  await vi.advanceTimersByTimeAsync(2000)
  expect(heard).not.toHaveBeenCalled()
  driver.isAway = false
  await vi.advanceTimersByTimeAsync(2000)
  expect(heard).toHaveBeenCalledTimes(1)
  watchers.close()
})

test('very many tasks are asked for a thousand at a time', async () => {
  const { watchers, asked } = begin()
  for (let id = 0; id < 1001; id++) watchers.watch(`${id}`, () => {})
  await vi.advanceTimersByTimeAsync(2000)
  expect(asked).toEqual([1000, 1])
  watchers.close()
})

test('nobody is asked once nobody watches', async () => {
  const { watchers, asked } = begin()
  const stop = watchers.watch('one', () => {})
  stop()
  await vi.advanceTimersByTimeAsync(2000)
  expect(asked).toEqual([])
  watchers.watch('two', () => {})
  await vi.advanceTimersByTimeAsync(2000)
  expect(asked).toEqual([1])
  watchers.close()
})

test('a listener that is added twice hears twice, until each is taken away, and one that throws keeps no other from it', () => {
  const { watchers, logged } = begin()
  const heard = vi.fn<() => void>()
  watchers.watch('one', () => {
    throw new Error('mine')
  })
  const stops = [watchers.watch('one', heard), watchers.watch('one', heard)]
  watchers.notify('a one')
  watchers.notify('a other')
  expect([heard.mock.calls.length, logged.length]).toEqual([2, 1])
  stops[0]?.()
  watchers.notifyAll()
  expect(heard).toHaveBeenCalledTimes(3)
  stops[1]?.()
  watchers.notifyAll()
  expect(heard).toHaveBeenCalledTimes(3)
  watchers.close()
})

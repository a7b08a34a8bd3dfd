/** Watched tasks over a database that only knows their versions, by a clock that the test moves. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { engineSettings } from '../../tasks/internal.ts'
import { taskKey } from './events.ts'
import { addressDigest, type PostgresTaskStore } from './store.ts'
import { PostgresWatchers } from './watch.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function begin() {
  const versions = new Map<string, string>()
  const asked: number[] = []
  const warned: string[] = []
  const database = {
    isAway: false,
    names: { tables: 'pannier' },
    notifier: { isListening: true },
    statements: async () => ({
      rows: async (_: string, [addresses]: [Buffer[]]) => {
        asked.push(addresses.length)
        if (database.isAway) throw new Error('away')
        return addresses.flatMap((address) => {
          const version = versions.get(address.toString('hex'))
          return version === undefined ? [] : [{ address, version }]
        })
      },
    }),
  }
  const logger = () => ({
    debug() {},
    info() {},
    error() {},
    warn: (_: object, text: string) => void warned.push(text),
  })
  const parts = { database, audience: 'a', settings: engineSettings({}), logger }
  const store = parts as unknown as PostgresTaskStore
  const set = (id: string, version: string) => versions.set(addressDigest(store, id).toString('hex'), version)
  return { watchers: new PostgresWatchers(store), store, database, asked, warned, set }
}

test('a change that nobody told of is found every two seconds, and each once', async () => {
  const { watchers, asked, set } = begin()
  set('one', '1')
  const heard = vi.fn<() => void>()
  watchers.watch('one', heard)
  await vi.advanceTimersByTimeAsync(1999)
  expect(asked).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect([asked, heard.mock.calls.length]).toEqual([[1], 1])
  await vi.advanceTimersByTimeAsync(2000)
  expect([asked, heard.mock.calls.length]).toEqual([[1, 1], 1])
  set('one', '2')
  await vi.advanceTimersByTimeAsync(2000)
  expect(heard).toHaveBeenCalledTimes(2)
  watchers.close()
  await vi.advanceTimersByTimeAsync(4000)
  expect(asked).toHaveLength(3)
})

test('without notifications it is found every half second', async () => {
  const { watchers, database, asked } = begin()
  database.notifier.isListening = false
  watchers.watch('one', () => {})
  await vi.advanceTimersByTimeAsync(500)
  expect(asked).toEqual([1])
  watchers.close()
})

test('a task that does not exist is told once, and again when it does', async () => {
  const { watchers, set } = begin()
  const heard = vi.fn<() => void>()
  watchers.watch('one', heard)
  await vi.advanceTimersByTimeAsync(4000)
  expect(heard).toHaveBeenCalledTimes(1)
  set('one', '1')
  await vi.advanceTimersByTimeAsync(2000)
  expect(heard).toHaveBeenCalledTimes(2)
  watchers.close()
})

test('a database that is away is asked again, and nobody hears of it', async () => {
  const { watchers, database, set } = begin()
  set('one', '1')
  const heard = vi.fn<() => void>()
  watchers.watch('one', heard)
  database.isAway = true
  await vi.advanceTimersByTimeAsync(2000)
  expect(heard).not.toHaveBeenCalled()
  database.isAway = false
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
  const { watchers, store, warned } = begin()
  const heard = vi.fn<() => void>()
  watchers.watch('one', () => {
    throw new Error('mine')
  })
  const stops = [watchers.watch('one', heard), watchers.watch('one', heard)]
  watchers.notify(taskKey(store, 'one'))
  watchers.notify(taskKey(store, 'other'))
  expect([heard.mock.calls.length, warned.length]).toEqual([2, 1])
  stops[0]?.()
  watchers.notifyAll()
  expect(heard).toHaveBeenCalledTimes(3)
  stops[1]?.()
  watchers.notifyAll()
  expect(heard).toHaveBeenCalledTimes(3)
  watchers.close()
})

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { IdleTimers, type Idling } from './idleTimers.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Named extends Idling {
  name: string
}

const begun = (name: string): Named => ({ name, activeAt: performance.now() })

function listened() {
  const told: unknown[] = []
  const began = performance.now()
  const silences: IdleTimers<Named> = new IdleTimers(1_000, ({ name }) => {
    told.push([name, performance.now() - began])
    silences.end(name)
  })
  return { told, silences }
}

test('each is told of when it has been silent for so long, and once', async () => {
  const { told, silences } = listened()
  const first = begun('a')
  silences.begin('a', first)
  await vi.advanceTimersByTimeAsync(400)
  silences.begin('b', begun('b'))
  await vi.advanceTimersByTimeAsync(300)
  first.activeAt = performance.now()
  silences.begin('c', begun('c'))
  expect([silences.end('c'), silences.end('c')]).toEqual([true, false])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(told).toEqual([
    ['b', 1_400],
    ['a', 1_700],
  ])
})

test('one timer is enough for many, and for those that come after', () => {
  const { silences } = listened()
  for (let key = 0; key < 1_000; key++) silences.begin(key, begun(`${key}`))
  for (let key = 0; key < 1_000; key++) silences.end(key)
  silences.begin('later', begun('later'))
  expect(vi.getTimerCount()).toBe(1)
})

test('a timer that nobody waits for is gone after its time', async () => {
  const { silences } = listened()
  silences.begin('a', begun('a'))
  silences.endAll()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(vi.getTimerCount()).toBe(0)
})

test('whoever is told may have all begin again, and end others', async () => {
  const told: unknown[] = []
  const silences: IdleTimers<Named> = new IdleTimers(1_000, ({ name }) => {
    told.push(name)
    if (told.length < 4) for (const one of silences.all) one.activeAt = performance.now()
    else for (const other of ['a', 'b']) silences.end(other)
  })
  for (const key of ['a', 'b']) silences.begin(key, begun(`${key}`))
  await vi.advanceTimersByTimeAsync(10_000)
  expect(told).toEqual(['a', 'a', 'a', 'a'])
})

test('the others are told of although one who was told fails', async () => {
  const told: unknown[] = []
  const faults: unknown[] = []
  const hear = (fault: unknown): void => void faults.push(fault)
  process.once('uncaughtException', hear)
  const silences: IdleTimers<Named> = new IdleTimers(1_000, ({ name }) => {
    told.push(name)
    silences.end(name)
    if (name === 'a') throw new Error('of the host')
  })
  for (const name of ['a', 'b']) silences.begin(name, begun(name))
  await vi.advanceTimersByTimeAsync(1_000).catch(hear)
  await vi.advanceTimersByTimeAsync(10)
  process.removeListener('uncaughtException', hear)
  expect([told, faults.length]).toEqual([['a', 'b'], 1])
})

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Silences } from './silences.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function listened() {
  const told: unknown[] = []
  const silences = new Silences(1_000, (key) => told.push([key, performance.now() - began]))
  const began = performance.now()
  return { told, silences }
}

test('each is told of when it has been silent for so long, and once', async () => {
  const { told, silences } = listened()
  silences.heard('a')
  await vi.advanceTimersByTimeAsync(400)
  silences.heard('b')
  await vi.advanceTimersByTimeAsync(300)
  silences.heard('a')
  silences.heard('c')
  silences.end('c')
  await vi.advanceTimersByTimeAsync(10_000)
  expect(told).toEqual([
    ['b', 1_400],
    ['a', 1_700],
  ])
})

test('one timer is enough for many, and for those that come after', () => {
  const { silences } = listened()
  for (let key = 0; key < 1_000; key++) silences.heard(key)
  for (let key = 0; key < 1_000; key++) silences.end(key)
  silences.heard('later')
  expect(vi.getTimerCount()).toBe(1)
})

test('whoever is told may have all begin again', async () => {
  const told: unknown[] = []
  const silences: Silences = new Silences(1_000, (key) => {
    told.push(key)
    if (told.length < 4) for (const one of ['a', 'b']) silences.heard(one)
  })
  silences.heard('a')
  await vi.advanceTimersByTimeAsync(10_000)
  expect(told).toEqual(['a', 'a', 'a', 'a', 'b'])
})

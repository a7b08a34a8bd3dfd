import { expect, test } from 'vitest'
import { memoryRates, RATE_MS } from './rates.ts'

test('requests over the limit wait until a minute after the first one, each caller for itself', async () => {
  let now = 5
  const rates = memoryRates(() => now)
  expect(await rates.count('ann', 2)).toBe(0)
  now += 1000
  expect(await rates.count('ann', 2)).toBe(0)
  expect(await rates.count('ann', 2)).toBe(RATE_MS - 1000)
  expect(await rates.count('bob', 2)).toBe(0)
  now = 5 + RATE_MS
  expect(await rates.count('ann', 2)).toBe(0)
})

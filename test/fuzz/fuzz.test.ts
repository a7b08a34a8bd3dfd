/** The short form of `npm run fuzz`, and a minute of it. */
import { expect, test } from 'vitest'
import { isLong } from '../amount.ts'
import { fuzz } from './fuzz.ts'

test('whatever servers and clients send, a gateway stays, is healthy, and serves others rightly and in time', async () => {
  // Long runs look for what no run has found before; short ones must not fail by chance.
  const seed = isLong ? Math.floor(Math.random() * 2 ** 32) : 7
  const { violations, sent, calls } = await fuzz({ seed, until: isLong ? { seconds: 60 } : { requests: 100 } })
  expect(violations, `npm run fuzz -- --seed ${seed}`).toEqual([])
  expect(sent).toBeGreaterThanOrEqual(100)
  expect(calls).toBeGreaterThanOrEqual(5)
}, 180_000)

import { expect, test } from 'vitest'
import { newJournal } from '../../journal/index.ts'
import { CallLifetime } from './lifetime.ts'

test.each([
  ['as long as it was told', { ttlSeconds: 60, maxCallSeconds: 100 }, 100],
  ['a day', { ttlSeconds: 60 }, 86_400],
  ['four times as long as a client may take, where that is more', { ttlSeconds: 86_400 }, 345_600],
])('a call lives %s, to the second, and its claims twice as long', (_, options, seconds) => {
  let nowMs = 5_000_400
  const lifetime = new CallLifetime({ ...options, clock: () => nowMs })
  expect(lifetime.claimSeconds).toBe(2 * seconds)
  const journal = newJournal('call')
  lifetime.assertAlive(journal) // it has not begun
  lifetime.begin(journal)
  expect(journal.begunAt).toBe(5000)
  nowMs = 5_000_000 + seconds * 1000
  lifetime.begin(journal)
  lifetime.assertAlive(journal)
  nowMs += 1
  expect(() => lifetime.assertAlive(journal)).toThrow('maxCallSeconds')
})

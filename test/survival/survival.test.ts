/** The short form of `npm run survive`, which also restarts and kills the instances. */
import { expect, test } from 'vitest'
import { survive } from './survive.ts'
import { isSound } from './verdict.ts'

const plan = { instances: 3, calls: 8, atOnce: 8, hungAfterMs: 30_000, everyMs: 300 }

test('session-era clients behind a plain balancer: no call hangs and none happens twice', async () => {
  const outcomes = await survive({ ...plan, trouble: 'none' })
  expect(outcomes.filter((outcome) => !isSound(outcome))).toEqual([])
}, 180_000)

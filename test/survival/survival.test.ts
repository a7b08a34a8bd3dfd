/** The short form of `npm run survive`. */
import { expect, test } from 'vitest'
import { isSound, survive, type Trouble } from './survive.ts'

const plan = { instances: 3, calls: 8, atOnce: 8, hungAfterMs: 40_000, everyMs: 300 }

test.each<Trouble>(['none', 'restarts', 'restarts in place', 'kills'])(
  'session-era clients behind a plain balancer: no call hangs and none happens twice (trouble: %s)',
  async (trouble) => {
    const outcomes = await survive({ ...plan, trouble })
    expect(outcomes.filter((outcome) => !isSound(outcome))).toEqual([])
  },
  180_000,
)

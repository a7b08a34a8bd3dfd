/** The short form of `npm run survive`: all calls and troubles at the same time, until instances were restarted or killed. */
import { expect, test } from 'vitest'
import { amount, isLong } from '../amount.ts'
import { survive, type Trouble } from './survive.ts'
import { isSound } from './verdict.ts'

const plan = { instances: 3, calls: amount(2, 20), atOnce: 1, together: true, hungAfterMs: 30_000, everyMs: 300 }
const times = amount(2, 12)

const TROUBLES: readonly Trouble[] = ['restarts', 'kills', ...(isLong ? (['none', 'restarts in place'] as const) : [])]

test.concurrent.each(TROUBLES)(
  'session-era clients behind a plain balancer, %s: no call hangs, none happens twice, and only those of killed instances are lost',
  async (trouble) => {
    const { outcomes } = await survive({ ...plan, trouble, times: trouble === 'none' ? 0 : times })
    expect(outcomes.filter((outcome) => !isSound(outcome))).toEqual([])
    if (trouble !== 'kills') expect(outcomes.filter(({ lost }) => lost > 0)).toEqual([])
  },
  180_000,
)

/** The short and the long form of `npm run simulate`. */
import { expect, test } from 'vitest'
import { amount } from '../amount.ts'
import { CLIMATES } from './plan.ts'
import { simulate } from './simulate.ts'

test('the same seed gives the same run', async () => {
  const [first, second] = [await simulate({ seed: 5, isTraced: true }), await simulate({ seed: 5, isTraced: true })]
  expect(first.messages.length).toBeGreaterThan(50)
  expect(second.messages).toEqual(first.messages)
  expect((await simulate({ seed: 5 })).steps).toBe(first.steps)
})

test.each(CLIMATES)(
  'of fifty processes in the climate %s each call has one outcome as well',
  async (climate) => {
    for (let seed = 1; seed <= amount(1, 5); seed++) {
      const { violations } = await simulate({ seed, climate, processes: 50 })
      expect(violations, `npm run simulate -- --seed ${seed} --climate ${climate} --processes 50`).toEqual([])
    }
  },
  900_000,
)

test('a call costs as many messages among fifty processes as among three', async () => {
  const costOf = async (processes: number): Promise<number> => {
    const of = { seed: 1, climate: 'calm', directory: 'members', clients: 30, cancels: 0, isCounted: true } as const
    const { sent, outcomes } = await simulate({ ...of, processes })
    return sent / outcomes.length
  }
  const [three, fifty] = [await costOf(3), await costOf(50)]
  console.log(`messages for each call: ${three.toFixed(1)} of 3 processes, ${fifty.toFixed(1)} of 50`)
  // Of three processes every third is the owner itself, of fifty hardly any: at most half as many messages more.
  expect(fifty).toBeLessThan(1.6 * three)
})

test.each(CLIMATES)(
  'in a simulation whose climate is %s each call has one outcome, in time, and nothing is left of it',
  async (climate) => {
    for (let seed = 1; seed <= amount(170, 1000); seed++) {
      const { violations } = await simulate({ seed, climate })
      expect(violations, `npm run simulate -- --seed ${seed} --climate ${climate}`).toEqual([])
    }
  },
  900_000,
)

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
  'in a simulation whose climate is %s each call has one outcome, in time, and nothing is left of it',
  async (climate) => {
    for (let seed = 1; seed <= amount(170, 1000); seed++) {
      const { violations } = await simulate({ seed, climate })
      expect(violations, `npm run simulate -- --seed ${seed} --climate ${climate}`).toEqual([])
    }
  },
  900_000,
)

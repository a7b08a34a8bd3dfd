/** The short and the long form of `npm run simulate`. */
import { expect, test } from 'vitest'
import { amount } from '../amount.ts'
import { simulate } from './simulate.ts'

test('the same seed gives the same run', async () => {
  const [first, second] = [await simulate({ seed: 5, isTraced: true }), await simulate({ seed: 5, isTraced: true })]
  expect(first.messages.length).toBeGreaterThan(50)
  expect(second.messages).toEqual(first.messages)
  expect((await simulate({ seed: 5 })).steps).toBe(first.steps)
})

test.each(['calm', 'rolling'] as const)(
  'in a simulation that is %s every call gets its result, once',
  async (climate) => {
    for (let seed = 1; seed <= amount(60, 300); seed++) {
      const { violations } = await simulate({ seed, climate })
      expect(violations, `npm run simulate -- --seed ${seed} --climate ${climate}`).toEqual([])
    }
  },
  300_000,
)

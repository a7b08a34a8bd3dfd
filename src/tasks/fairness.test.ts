import { expect, test } from 'vitest'
import { fairShares } from './fairness.ts'

const ann = { holder: 'ann', running: 0, ready: 100, oldest: 1 }
const bob = { holder: 'bob', running: 0, ready: 100, oldest: 2 }

test.each([
  ['one who is alone has every slot', [ann], 16, { ann: 16 }],
  ['two who wait share the slots', [bob, ann], 16, { ann: 8, bob: 8 }],
  ['the odd one is for the oldest task', [bob, ann], 3, { ann: 2, bob: 1 }],
  ['what runs already counts', [{ ...ann, running: 5 }, bob], 7, { ann: 1, bob: 6 }],
  ['what one cannot use, others have', [ann, { ...bob, ready: 2 }], 16, { ann: 14, bob: 2 }],
  [
    'there may be fewer tasks than slots',
    [
      { ...ann, ready: 1 },
      { ...bob, ready: 2 },
    ],
    16,
    { ann: 1, bob: 2 },
  ],
  ['one with no ready task has no slot', [{ ...ann, ready: 0 }, bob], 1, { bob: 1 }],
  ['without slots there is nothing to share', [ann], 0, {}],
])('%s', (_, callers, slots, shares) => {
  expect(Object.fromEntries(fairShares(callers, slots))).toEqual(shares)
})

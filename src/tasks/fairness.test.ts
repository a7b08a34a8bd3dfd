import { describe, expect, test } from 'vitest'
import { fairShares, MEMBERS_SHARE, refusalOfTask } from './fairness.ts'

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

describe('another task', () => {
  const refused = (ofHolder: number, ofMember: number | undefined) => refusalOfTask({ ofHolder, ofMember }, 3)?.message

  test('is refused to a caller who has as many as is allowed', () => {
    expect(refused(2, undefined)).toBeUndefined()
    expect(refused(3, undefined)).toContain('This caller has')
  })

  test('is refused to one of many behind an address by their own, and to all of them together', () => {
    expect(refused(20, 2)).toBeUndefined()
    expect(refused(20, 3)).toContain('This caller has')
    expect(refused(3 * MEMBERS_SHARE - 1, 0)).toBeUndefined()
    expect(refused(3 * MEMBERS_SHARE, 0)).toContain('from this network')
  })
})

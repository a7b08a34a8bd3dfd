import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RequestBudget } from './budget.ts'

test('whatever a server does, no more is sent than is allowed, and every session can be ended', () => {
  const deed = fc.record({ mayBegin: fc.boolean(), begins: fc.boolean(), ends: fc.boolean() })
  fc.assert(
    fc.property(fc.integer({ min: 4, max: 40 }), fc.array(deed, { maxLength: 100 }), (limit, deeds) => {
      const budget = new RequestBudget(limit)
      let open = 0
      const end = () => {
        open--
        budget.release()
        expect(budget.take(1)).toBe(true)
      }
      for (const { mayBegin, begins, ends } of deeds) {
        if (budget.take(mayBegin ? 2 : 1) && begins && budget.reserve()) open++
        if (ends && open > 0) end()
      }
      for (let left = open; left > 0; left--) end()
      expect(budget.used).toBeLessThanOrEqual(limit)
    }),
  )
})

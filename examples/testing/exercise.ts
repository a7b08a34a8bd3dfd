import { assertSound, exercise, recorder } from 'pannier/testing'
import { type Bank, refundServer } from './refund.ts'

// #region exercise
const effect = recorder()

const bank: Bank = {
  refund: async (order, cents) => {
    effect('refund', { order, cents })
    return 'R-1'
  },
}

export const report = await exercise(
  (overrides) => refundServer(bank, overrides), // a fresh server for every round
  { tool: 'refund', arguments: { order: 'A-17' } },
  { amount: { cents: 950 } },
)
assertSound(report)
// #endregion exercise

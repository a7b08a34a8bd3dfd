import { expect, test } from 'vitest'

test('examples/testing/exercise.ts finds its tool sound, and refunds once', async () => {
  const { report } = await import('../../examples/testing/exercise.ts')
  expect(report).toMatchObject({ ok: true, rounds: [{ asked: ['amount'] }, { effects: ['refund'] }] })
})

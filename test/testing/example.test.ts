import { expect, test } from 'vitest'

test('examples/testing/exercise.ts finds its tool sound, and refunds once', async () => {
  const { report } = await import('../../examples/testing/exercise.ts')
  expect(report).toMatchObject({ ok: true, rounds: [{ asked: ['amount'] }, { effects: ['refund'] }] })
})

test('examples/testing/approval.ts runs its tool as a task, which a manager approves', async () => {
  const { report } = await import('../../examples/testing/approval.ts')
  expect(report).toMatchObject({
    ok: true,
    rounds: [{ asked: [] }, { asked: ['approve'] }, { asked: [] }],
    result: { content: [{ text: 'Paid, approved by mia.' }] },
  })
})

test('examples/testing/client.ts calls without a port and without a token', async () => {
  const { result } = await import('../../examples/testing/client.ts')
  expect(result).toMatchObject({ content: [{ text: 'Refunded 950 cents, receipt R-1.' }] })
})

import { expect, test } from 'vitest'
import { runMatrix } from './matrix.ts'

test('every behaviour that a client and a server have works for two callers at once, through two gateways', async () => {
  const { violations, orphans } = await runMatrix({ count: 0, minutes: 5, looksBack: false })
  expect(violations).toEqual([])
  expect(orphans).toBe(0)
}, 600_000)

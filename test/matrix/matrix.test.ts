/** The short form of `npm run matrix`. */
import { expect, test } from 'vitest'
import { amount, isLong } from '../amount.ts'
import { ALL_CELLS, runMatrix } from './matrix.ts'

/** In the short form, what needs most of the gateways, and of the cells with a process those that share it. */
const short = ALL_CELLS.filter(({ client, server, behaviour }) =>
  server === 'stdio'
    ? client === 'v2 stateless' && behaviour === 'two, one after the other'
    : ['two, one after the other', 'several at once', 'cancellation by the client'].includes(behaviour),
)

test(
  'two callers at once get their own results through two gateways, or an error when something is killed, and nothing happens twice',
  async () => {
    const cells = isLong ? ALL_CELLS : short
    const killedIn = cells.filter(({ client }) => client === 'v2 stateless')
    const options = { cells, killedIn, kills: amount(8, 200), minutes: 10, fleets: 1 }
    const report = await runMatrix(options)
    expect(report.violations).toEqual([])
    expect(report.kills).toBeGreaterThan(0)
    expect(report.orphans).toBe(0)
  },
  amount(120_000, 900_000),
)

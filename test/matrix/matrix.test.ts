/** The short form of `npm run matrix`. */
import { expect, test } from 'vitest'
import { BEHAVIOURS } from './behaviours.ts'
import type { Cell } from './cells.ts'
import { runMatrix } from './matrix.ts'
import { faultName, FAULTS } from './faults.ts'
import { countOf } from './tally.ts'

/** Every behaviour once, by clients of both eras before servers of both; and what needs most of the gateways in all of these. */
const PAIRS = [
  ['v1', 'ours'],
  ['v2 stateless', 'v1'],
  ['ours in a session', 'v1'],
  ['v1', 'v1'],
  ['ours stateless', 'ours'],
] as const

function shortCells(): Cell[] {
  const behaviours = Object.keys(BEHAVIOURS)
  const cells = PAIRS.flatMap(([client, server], turn) =>
    behaviours
      .filter((name, index) => index % PAIRS.length === turn || name === 'two, one after the other')
      .map((behaviour) => ({ client, server, behaviour })),
  )
  return [...cells, { client: 'v2 stateless', server: 'v1-stdio', behaviour: 'two, one after the other' }]
}

test('two callers at once get their own results through two gateways, or an error after a fault, and nothing happens twice', async () => {
  const tally = await runMatrix({ cells: shortCells(), count: FAULTS.length, minutes: 2, looksBack: false })
  expect(tally.violations).toEqual([])
  expect(tally.orphans).toBe(0)
  for (const each of FAULTS) expect(countOf(tally, (fault) => fault === each).faults, faultName(each)).toBe(1)
}, 180_000)

/** The short form of `npm run survive -- --trouble drain`. */
import { expect } from 'vitest'
import { amount } from '../amount.ts'
import { proves } from '../proves.ts'
import { stopUnderLoad } from './drain.ts'

proves(
  'MRTR-13',
  'instances that are stopped on a busy machine answer every request whose client had a connection',
  async () => {
    const plan = { requests: amount(200, 20_000), stops: amount(3, 50), atOnce: 10 }
    const outcomes = await Promise.all([
      stopUnderLoad({ ...plan, client: 'fresh', busyProcesses: 1 }),
      stopUnderLoad({ ...plan, client: 'kept', busyProcesses: 0 }),
    ])
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reset: 0, examples: [] })
  },
  amount(60_000, 900_000),
)

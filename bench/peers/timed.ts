import { type Limit, Tally } from '../load/load.ts'
import type { Sample } from '../measure/contender.ts'

/** Does work until the limit is reached, and says what CPU time this process used meanwhile. */
export async function timed(limit: Limit, work: (tally: Tally) => Promise<unknown> | void): Promise<Sample> {
  const before = process.cpuUsage()
  const tally = new Tally(limit)
  await work(tally)
  const outcome = tally.outcome()
  const { user, system } = process.cpuUsage(before)
  return { ...outcome, serverMs: (user + system) / 1000, loadMs: 0 }
}

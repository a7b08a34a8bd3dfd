import { type Limit, type Outcome, Tally } from '../../load/load.ts'

/** Does the same several times at once. */
export function inParallel<T>(lanes: number, work: (lane: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: lanes }, (_, lane) => work(lane)))
}

/** Does it again and again in each lane, until the limit is reached. */
export async function loopInParallel(
  limit: Limit,
  lanes: number,
  once: (lane: number) => Promise<void>,
): Promise<Outcome> {
  const tally = new Tally(limit)
  await inParallel(lanes, async (lane) => {
    while (tally.running) {
      await once(lane)
      tally.countRight()
    }
  })
  return tally.outcome()
}

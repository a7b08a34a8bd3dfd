import { type Limit, type Outcome, Tally } from '../../load/load.ts'

/** Does the work several times in parallel. */
export function inParallel<T>(loops: number, work: (loop: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: loops }, (_, loop) => work(loop)))
}

/** Repeats the work in several parallel loops, until the limit is reached. */
export async function loopInParallel(
  limit: Limit,
  loops: number,
  once: (loop: number) => Promise<void>,
): Promise<Outcome> {
  const tally = new Tally(limit)
  await inParallel(loops, async (loop) => {
    while (tally.running) {
      await once(loop)
      tally.countRight()
    }
  })
  return tally.outcome()
}

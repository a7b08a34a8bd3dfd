import { type Contender, rate, type Sample, sumOf, type Turns } from './contender.ts'
import type { Interference } from './interference.ts'
import { median } from './statistics.ts'

/** A round gives each contender many short turns, so that changes of the machine's speed affect all of them. */
export interface Rounds {
  count: number
  turns: number
  turnMs: number
}

/** The samples of one contender, one for each round. */
export interface Series {
  name: string
  warmUp: Sample[]
  rounds: (Sample & Interference)[]
}

/** Does a measurement, and repeats it when other processes used the machine. */
export type Undisturbed = <T extends object>(work: () => Promise<T>) => Promise<T & Interference>

/** A warm-up is divided into this many slices, each with its own rate. */
const SLICES = 10
/** The rate is stable when the last slices are not much faster than those before them. */
const STABLE_SLICES = 4
const STABLE_WITHIN = 0.03
/** A warm-up ends at the latest after this many times the warm-up time, in CPU time. */
const MAX_FACTOR = 2.5
/** And at the latest after this many slices, in case other processes leave it little CPU time. */
const MAX_SLICES = SLICES * 4

/** Warms up every contender, then measures them in turns. */
export async function compare(
  contenders: readonly Contender[],
  rounds: Rounds,
  undisturbed: Undisturbed,
): Promise<Series[]> {
  const series: Series[] = []
  for (const contender of contenders) {
    series.push({ name: contender.name, warmUp: await warmUp(contender), rounds: [] })
  }
  for (let round = 0; round < rounds.count; round++) {
    const { samples, ...disturbed } = await undisturbed(() => measureRound(contenders, rounds))
    samples.forEach((sample, index) => series[index]?.rounds.push({ ...sample, ...disturbed }))
  }
  return series
}

/**
 * Puts load on a contender until it has used its warm-up time, and longer while it still gets faster. The time is CPU
 * time, because a warm-up takes longer while other processes use the machine.
 */
async function warmUp(contender: Contender): Promise<Sample[]> {
  const slices: Sample[] = []
  let usedMs = 0
  while (slices.length < MAX_SLICES && usedMs < contender.warmUpMs * MAX_FACTOR) {
    const slice = await withTurns([contender], async ([turns]) => turns?.run(contender.warmUpMs / SLICES))
    if (slice === undefined) break
    slices.push(slice)
    usedMs += slice.serverMs
    if (usedMs >= contender.warmUpMs && isStable(slices.map(rate))) break
  }
  return slices
}

function isStable(values: readonly number[]): boolean {
  const newest = median(values.slice(-STABLE_SLICES))
  const before = median(values.slice(-2 * STABLE_SLICES, -STABLE_SLICES))
  return newest <= before * (1 + STABLE_WITHIN)
}

/** Turns of all contenders; each time another one is the first. */
function measureRound(contenders: readonly Contender[], rounds: Rounds): Promise<{ samples: Sample[] }> {
  return withTurns(contenders, async (all) => {
    const taken: Sample[][] = all.map(() => [])
    for (let turn = 0; turn < rounds.turns; turn++) {
      for (let place = 0; place < all.length; place++) {
        const index = (turn + place) % all.length
        const sample = await all[index]?.run(rounds.turnMs)
        if (sample !== undefined) taken[index]?.push(sample)
      }
    }
    return { samples: taken.map(sumOf) }
  })
}

async function withTurns<T>(contenders: readonly Contender[], work: (all: Turns[]) => Promise<T>): Promise<T> {
  const all = await Promise.all(contenders.map((contender) => contender.open()))
  try {
    return await work(all)
  } finally {
    for (const turns of all) turns.close()
  }
}

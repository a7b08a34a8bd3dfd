import { type Contender, rate, type Sample, sumOf, type Turns } from './contender.ts'
import type { Interference } from './interference.ts'
import { median } from './statistics.ts'

/** A round gives each contender many short turns, so that all of them meet the same moods of the machine. */
export interface Rounds {
  count: number
  turns: number
  turnMs: number
}

/** What one contender did, round by round. */
export interface Series {
  name: string
  warmUp: Sample[]
  rounds: (Sample & Interference)[]
}

/** Does a piece of measuring, and does it again where others disturbed it. */
export type Undisturbed = <T extends object>(work: () => Promise<T>) => Promise<T & Interference>

/** A warm-up is run, and its rate looked at, in this many slices. */
const SLICES = 10
/** Level: the newest slices are not much faster than those before them. */
const LEVEL_SLICES = 4
const LEVEL_WITHIN = 0.03
/** However slowly a contender warms up, it gets no more than this many times its warm-up time of CPU time. */
const MOST = 2.5
/** And where others leave it little CPU time, no more slices than this. */
const MOST_SLICES = SLICES * 4

/** Warms every contender up, then measures them in turns. */
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
 * Loads a contender until it has had its warm-up time in CPU time, and on while it is still getting faster.
 * CPU time, because on a machine that others use too, warm-up takes longer.
 */
async function warmUp(contender: Contender): Promise<Sample[]> {
  const slices: Sample[] = []
  let hadMs = 0
  while (slices.length < MOST_SLICES && hadMs < contender.warmUpMs * MOST) {
    const slice = await withTurns([contender], async ([turns]) => turns?.run(contender.warmUpMs / SLICES))
    if (slice === undefined) break
    slices.push(slice)
    hadMs += slice.serverMs
    if (hadMs >= contender.warmUpMs && isLevel(slices.map(rate))) break
  }
  return slices
}

function isLevel(values: readonly number[]): boolean {
  const newest = median(values.slice(-LEVEL_SLICES))
  const before = median(values.slice(-2 * LEVEL_SLICES, -LEVEL_SLICES))
  return newest <= before * (1 + LEVEL_WITHIN)
}

/** All contenders, turn by turn; each time another one begins. */
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

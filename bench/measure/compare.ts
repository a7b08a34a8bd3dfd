import type { Outcome } from '../load/load.ts'
import type { Patience } from './patience.ts'
import { median, pairedRatio, type Spread, spreadOf } from './statistics.ts'

/** One of those measured side by side. */
export interface Contender {
  name: string
  /** Loads it for this long. */
  run(ms: number): Promise<Sample>
  /** Load it needs before its rate counts. */
  warmUpMs: number
}

/** How busy the machine was during a measurement. */
export interface Noted {
  /** CPU time of the server. */
  serverMs?: number
  /** Share of its core that the server used, 0 to 1. */
  serverCpu?: number
  /** Share of its core that the load generator used, 0 to 1. */
  loadCpu?: number
  /** What everything else on the machine used of both cores, 0 to 2. */
  othersCpu?: number
}

export type Sample = Outcome & Noted

export interface Rounds {
  count: number
  ms: number
}

/** What one contender did, round by round. */
export interface Series {
  name: string
  warmUp: Sample[]
  rounds: Sample[]
}

/** A warm-up is run, and its rate looked at, in this many slices. */
const SLICES = 10
/** Level: the newest slices are not much faster than those before them. */
const LEVEL_SLICES = 4
const LEVEL_WITHIN = 0.03
/** However slowly a contender warms up, it gets no more than this many times its warm-up time. */
const MOST = 2.5

/** Warms every contender up, then measures them in turns; each round starts with another one. */
export async function compare(contenders: readonly Contender[], rounds: Rounds, patience: Patience): Promise<Series[]> {
  const series: Series[] = []
  for (const contender of contenders) {
    series.push({ name: contender.name, warmUp: await warmUp(contender), rounds: [] })
  }
  for (let round = 0; round < rounds.count; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const index = (round + turn) % contenders.length
      const contender = contenders[index]
      if (contender === undefined) continue
      series[index]?.rounds.push(await patience.undisturbed(() => contender.run(rounds.ms)))
    }
  }
  return series
}

/**
 * Loads a contender until it has had its warm-up time in CPU time, and on while it is still getting faster.
 * CPU time, because on a machine that others use too, warm-up takes longer.
 */
async function warmUp(contender: Contender): Promise<Sample[]> {
  const slices: Sample[] = []
  for (let slice = 0; slice < SLICES * MOST; slice++) {
    slices.push(await contender.run(contender.warmUpMs / SLICES))
    const hadMs = slices.reduce((sum, sample) => sum + (sample.serverMs ?? sample.ms), 0)
    if (hadMs >= contender.warmUpMs * 0.95 && isLevel(slices.map(rate))) break
  }
  return slices
}

function isLevel(rates: readonly number[]): boolean {
  const newest = median(rates.slice(-LEVEL_SLICES))
  const before = median(rates.slice(-2 * LEVEL_SLICES, -LEVEL_SLICES))
  return newest <= before * (1 + LEVEL_WITHIN)
}

function rate(sample: Sample): number {
  return sample.count / (sample.ms / 1000)
}

export function rates(series: Series): Spread {
  return spreadOf(series.rounds.map(rate))
}

/** How many times faster; and the same by CPU time, into which what others on the machine take does not enter. */
export function ratios(ours: Series, theirs: Series): { value: Spread; byCpu: Spread } {
  return {
    value: pairedRatio(ours.rounds.map(rate), theirs.rounds.map(rate)),
    byCpu: pairedRatio(ours.rounds.map(cpuRate), theirs.rounds.map(cpuRate)),
  }
}

export function cpuRate(sample: Sample): number {
  return sample.serverMs === undefined ? Number.NaN : sample.count / (sample.serverMs / 1000)
}

export function medianOf(series: Series, value: (sample: Sample) => number | undefined): number {
  return median(series.rounds.map((sample) => value(sample) ?? Number.NaN))
}

/** Wrong answers count wherever they come, in warm-up too. */
export function wrongIn(series: readonly Series[]): { count: number; first?: string } {
  const bad = series.flatMap(({ name, warmUp, rounds }) =>
    [...warmUp, ...rounds].filter(({ wrong }) => wrong > 0).map((sample) => ({ name, sample })),
  )
  const count = bad.reduce((sum, { sample }) => sum + sample.wrong, 0)
  const first = bad[0]
  return first === undefined ? { count } : { count, first: `${first.name}: ${first.sample.firstWrong}` }
}

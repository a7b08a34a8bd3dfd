import type { Series } from './compare.ts'
import { cpuRate, rate, type Sample } from './contender.ts'
import { median, pairedRatio, type Spread, spreadOf } from './statistics.ts'

/** The same contenders in several comparisons, as one. */
export function joinSeries(all: readonly (readonly Series[])[]): Series[] {
  const [first = []] = all
  return first.map(({ name }, index) => ({
    name,
    warmUp: all.flatMap((series) => series[index]?.warmUp ?? []),
    rounds: all.flatMap((series) => series[index]?.rounds ?? []),
  }))
}

export function rates(series: Series): Spread {
  return spreadOf(series.rounds.map(rate))
}

/** The ratio of two rates, by wall time and by CPU time. */
export function ratios(ours: Series, theirs: Series): { value: Spread; byCpu: Spread } {
  return {
    value: pairedRatio(ours.rounds.map(rate), theirs.rounds.map(rate)),
    byCpu: pairedRatio(ours.rounds.map(cpuRate), theirs.rounds.map(cpuRate)),
  }
}

export function medianOf(series: Series, value: (sample: Sample) => number): number {
  return median(series.rounds.map(value))
}

/** The share of its core that the server used, 0 to 1. */
export function serverShare(series: Series): number {
  return medianOf(series, ({ serverMs, ms }) => serverMs / ms)
}

/** The share of its core that the load generator used, 0 to 1. */
export function loadShare(series: Series): number {
  return medianOf(series, ({ loadMs, ms }) => loadMs / ms)
}

/** Wrong responses, those of the warm-up included. */
export function wrongIn(series: readonly Series[]): { count: number; first?: string } {
  const bad = series.flatMap(({ name, warmUp, rounds }) =>
    [...warmUp, ...rounds].filter(({ wrong }) => wrong > 0).map((sample) => ({ name, sample })),
  )
  const count = bad.reduce((sum, { sample }) => sum + sample.wrong, 0)
  const first = bad[0]
  return first === undefined ? { count } : { count, first: `${first.name}: ${first.sample.firstWrong}` }
}

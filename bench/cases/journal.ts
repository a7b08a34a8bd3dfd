import { fittedExponent, median, spreadOf } from '../measure/statistics.ts'
import type { RoundTiming } from '../peers/journal.ts'
import { type Case, type CaseResult, withChildren } from './case.ts'
import { fine } from './lines.ts'

const ROUNDS = [1, 2, 4, 8, 16, 32, 64]
/** Below this the fixed cost of a request hides what the journal adds. */
const FIT_FROM = 8

/** The n-th round opens, replays and seals n - 1 answers: what that adds may grow as fast as they do, not faster. */
export const journal: Case = {
  title: 'the n-th round of a long journal, one round in process, microseconds',
  programs: ['journal'],
  run: (bench) =>
    withChildren([bench.startProgram('journal')], async ([child]) => {
      const timings = await child?.ask<RoundTiming[]>('time', { rounds: ROUNDS, ms: bench.plan.microMs })
      return settle(timings ?? [])
    }),
}

function settle(timings: RoundTiming[]): CaseResult {
  const exponent = growth(timings)
  return {
    lines: timings.map(line),
    figures: [
      {
        label: 'journal: exponent of what n adds',
        value: { median: exponent, low: exponent, high: exponent },
        asked: 1.15,
        wanted: 'atMost',
      },
    ],
    wrong: { count: 0 },
    raw: timings,
  }
}

/** The exponent of the cost beyond the first round's, over the number of answers carried. */
function growth(timings: RoundTiming[]): number {
  const first = median(timings[0]?.micros ?? [])
  const points = timings
    .filter(({ round }) => round >= FIT_FROM)
    .map(({ round, micros }) => ({ x: round - 1, y: Math.max(median(micros) - first, 0.01) }))
  return fittedExponent(points)
}

function line({ round, stateLength, micros }: RoundTiming): string {
  const { median: middle, low } = spreadOf(micros)
  const cost = `${fine(middle).padStart(9)} µs (best ${fine(low)})`
  return `round ${String(round).padStart(3)} ${cost.padEnd(34)} state of ${stateLength} characters`
}

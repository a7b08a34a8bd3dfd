import { fittedExponent, spreadOf } from '../../measure/statistics.ts'
import type { RoundTiming } from '../../programs/server/journal.ts'
import type { Child } from '../../processes/child.ts'
import { type Bench, type Case, type CaseResult, withChild } from '../case.ts'
import { fine } from '../report.ts'

/** 128 is more than is required, for a better fit. */
const ROUNDS = [1, 2, 4, 8, 16, 32, 64, 128]
/** In earlier rounds, the fixed cost of a request hides the cost of an answer. */
const FIT_FROM = 16
const WARM_UP_PASSES = 4
const PASSES = 6
/** The largest exponent that counts as linear: 1, and some tolerance for noise. 2 would be quadratic. */
const LINEAR = 1.15

interface Pass {
  timings: RoundTiming[]
}

/** The n-th round opens, replays and seals n - 1 answers. Its cost may grow linearly with n, not faster. */
export const journal: Case = {
  title: 'the n-th round of a long journal, one round in process, microseconds',
  programs: ['journal'],
  run: (bench) => withChild(bench.startProgram('journal'), async (child) => settle(await passes(bench, child))),
}

async function passes(bench: Bench, child: Child): Promise<Pass[]> {
  const pass = (): Promise<Pass> => child.ask('time', { rounds: ROUNDS, ms: bench.plan.microMs })
  for (let warm = 0; warm < WARM_UP_PASSES; warm++) await pass()
  const timed: Pass[] = []
  while (timed.length < PASSES) timed.push(await bench.undisturbed([child], pass))
  return timed
}

function settle(timed: Pass[]): CaseResult {
  const label = 'journal: exponent of growth in n'
  const exponents = spreadOf(timed.map(({ timings }) => growth(timings)))
  return {
    lines: timingsByRound(timed).map(line),
    figures: [{ label, value: exponents, required: LINEAR, wanted: 'atMost' }],
    wrong: { count: 0 },
    raw: timed,
  }
}

function timingsByRound(timed: Pass[]): RoundTiming[] {
  const all = timed.flatMap(({ timings }) => timings)
  return ROUNDS.map((round) => {
    const same = all.filter((timing) => timing.round === round)
    return { round, stateLength: same[0]?.stateLength ?? 0, micros: same.flatMap(({ micros }) => micros) }
  })
}

/**
 * The exponent with which the cost grows: 1 is linear, 2 quadratic. It is fitted to what each doubling of n adds,
 * because the fixed cost of a round would make growth look slower; and to the best times, because noise only adds time.
 */
function growth(timings: RoundTiming[]): number {
  const cost = new Map(timings.map(({ round, micros }) => [round, Math.min(...micros)]))
  const points = ROUNDS.filter((round) => round >= FIT_FROM && cost.has(round * 2)).map((round) => {
    const added = (cost.get(round * 2) ?? Number.NaN) - (cost.get(round) ?? Number.NaN)
    return { x: round, y: Math.max(added, 0.01) }
  })
  return fittedExponent(points)
}

function line({ round, stateLength, micros }: RoundTiming): string {
  const { median: middle, low } = spreadOf(micros)
  const cost = `${fine(middle).padStart(9)} µs (best ${fine(low)})`
  return `round ${String(round).padStart(3)} ${cost.padEnd(34)} state of ${stateLength} characters`
}

import type { Outcome } from '../../load/load.ts'
import { pairedRatio, spreadOf } from '../../measure/statistics.ts'
import { type Bench, type Case, type CaseResult, withChild } from '../case.ts'
import { echoLoad } from '../../load/kinds.ts'

const PROGRAMS = ['baseline', 'sdk', 'pannier'] as const
type Measured = (typeof PROGRAMS)[number]

interface Footprint {
  before: NodeJS.MemoryUsage
  after: NodeJS.MemoryUsage
  outcome: Outcome
}

/** Memory of a server after a number of calls and a garbage collection, in a new process each time. */
export const memory: Case = {
  title: 'memory after the load',
  programs: PROGRAMS,
  async run(bench) {
    const all: Record<Measured, Footprint[]> = { baseline: [], sdk: [], pannier: [] }
    for (let repeat = 0; repeat < bench.plan.memory.repeats; repeat++) {
      for (const program of PROGRAMS) all[program].push(await footprint(bench, program))
    }
    return settle(all, bench.plan.memory.calls)
  },
}

function footprint(bench: Bench, program: Measured): Promise<Footprint> {
  return withChild(bench.startServer(program, { transport: 'http' }), async (child) => {
    const before = await child.ask<NodeJS.MemoryUsage>('memory')
    const session = await echoLoad()(child)
    const outcome = await session.run({ count: bench.plan.memory.calls })
    session.close()
    const after = await child.ask<NodeJS.MemoryUsage>('memory')
    return { before, after, outcome }
  })
}

function settle(all: Record<Measured, Footprint[]>, calls: number): CaseResult {
  const rss = (program: Measured): number[] => all[program].map(({ after }) => after.rss)
  const wrong = Object.values(all)
    .flat()
    .map(({ outcome }) => outcome)
  const first = wrong.find(({ firstWrong }) => firstWrong !== undefined)?.firstWrong
  const count = wrong.reduce((sum, outcome) => sum + outcome.wrong, 0)
  return {
    lines: [`after ${calls} calls, garbage collected:`, ...PROGRAMS.map((program) => line(program, all[program]))],
    figures: [
      {
        label: 'memory: pannier / sdk, RSS',
        value: pairedRatio(rss('pannier'), rss('sdk')),
        required: 0.5,
        wanted: 'atMost',
      },
    ],
    wrong: first === undefined ? { count } : { count, first },
    raw: all,
  }
}

function line(program: Measured, prints: Footprint[]): string {
  const value = (pick: (print: Footprint) => number): string => {
    const { median, low, high } = spreadOf(prints.map(pick))
    return `${megabytes(median)} (${megabytes(low)} … ${megabytes(high)})`
  }
  const rss = value(({ after }) => after.rss)
  const idle = value(({ before }) => before.rss)
  const heap = value(({ after }) => after.heapUsed)
  return `${program.padEnd(10)} RSS ${rss} MB, before the load ${idle} MB, heap in use ${heap} MB`
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}

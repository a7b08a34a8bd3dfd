import type { Session } from '../load/load.ts'
import { compare, type Series } from '../measure/compare.ts'
import type { Contender, Sample } from '../measure/contender.ts'
import type { Figure } from '../measure/figure.ts'
import { joinSeries, wrongIn } from '../measure/series.ts'
import type { Child } from '../processes/child.ts'
import { ownCpuMs } from '../processes/cpuUsage.ts'
import { type Bench, type Case, type CaseResult, type Serving, withChildren } from './case.ts'
import { contentionLines, rateLines } from './report.ts'
import type { Load } from '../load/kinds.ts'

/** One server of a comparison, and its load. */
export interface Entrant {
  name: string
  program: 'baseline' | 'sdk' | 'pannier'
  role: Serving
  load: Load
}

export interface Comparison {
  title: string
  unit: string
  entrants: readonly Entrant[]
  figures(of: (name: string) => Series): Figure[]
  remarks?(of: (name: string) => Series): string[]
}

/** A case that starts all its servers at once, puts load on them in turns, and compares their rates. */
export function comparisonCase(comparison: Comparison): Case & { entrants: readonly Entrant[] } {
  const { title, entrants } = comparison
  const programs = [...new Set(entrants.map(({ program }) => program))]
  const run = async (bench: Bench): Promise<CaseResult> => {
    const runners = entrants.map(({ name, program, role, load }) => ({
      name,
      load,
      warmUpMs: bench.plan.warmUpMs[program],
      start: () => bench.startServer(program, role),
    }))
    return settle(comparison, await compareProcesses(bench, runners))
  }
  return { title, programs, entrants, run }
}

/** A program that is compared, and its load. */
export interface Runner {
  name: string
  load: Load
  warmUpMs: number
  start(): Promise<Child>
}

/**
 * Compares programs by several processes of each, one generation after the other: how well V8 compiles the same program
 * differs from process to process, by a tenth and more. `others` use the machine, too.
 */
export async function compareProcesses(
  bench: Bench,
  runners: readonly Runner[],
  others: readonly Child[] = [],
): Promise<Series[]> {
  const { generations, rounds } = bench.plan
  const all: Series[][] = []
  for (let generation = 0; generation < generations; generation++) {
    const starting = runners.map((runner) => runner.start())
    const series = await withChildren(starting, (children) => {
      const contenders = runners.map((runner, index) => contender(runner, children[index]))
      return compare(contenders, rounds, (work) => bench.undisturbed([...children, ...others], work))
    })
    all.push(series)
  }
  return joinSeries(all)
}

/** A process as a contender of a comparison. */
export function contender(
  { name, warmUpMs, load }: Pick<Contender, 'name' | 'warmUpMs'> & { load: Load },
  child: Child | undefined,
): Contender {
  if (child === undefined) throw new Error(`${name} was not started.`)
  return {
    name,
    warmUpMs,
    async open() {
      const session = await load(child)
      return { run: (ms) => timedTurn(child, session, ms), close: () => session.close() }
    },
  }
}

/** One turn, with the CPU time of the server and of the load generator. */
export async function timedTurn(child: Child, session: Session, ms: number): Promise<Sample> {
  const serverBefore = await child.ask<number>('cpu')
  const loadBefore = ownCpuMs()
  const outcome = await session.run({ ms })
  const loadMs = ownCpuMs() - loadBefore
  return { ...outcome, loadMs, serverMs: (await child.ask<number>('cpu')) - serverBefore }
}

function settle(comparison: Comparison, series: Series[]): CaseResult {
  const of = (name: string): Series => {
    const found = series.find((one) => one.name === name)
    if (found === undefined) throw new Error(`Nothing was measured for ${name}.`)
    return found
  }
  return {
    lines: [...rateLines(series, comparison.unit), ...(comparison.remarks?.(of) ?? []), ...contentionLines(series)],
    figures: comparison.figures(of),
    wrong: wrongIn(series),
    raw: series,
  }
}

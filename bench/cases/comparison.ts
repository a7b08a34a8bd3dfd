import type { Session } from '../load/load.ts'
import { compare, type Series } from '../measure/compare.ts'
import type { Contender, Sample } from '../measure/contender.ts'
import type { Figure } from '../measure/figure.ts'
import { wrongIn } from '../measure/series.ts'
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
  const run = (bench: Bench): Promise<CaseResult> => {
    const starting = entrants.map(({ program, role }) => bench.startServer(program, role))
    return withChildren(starting, async (children) => {
      const contenders = entrants.map((entrant, index) => {
        const warmUpMs = bench.plan.warmUpMs[entrant.program]
        return contender({ ...entrant, warmUpMs }, children[index])
      })
      return settle(
        comparison,
        await compare(contenders, bench.plan.rounds, (work) => bench.undisturbed(children, work)),
      )
    })
  }
  return { title, programs, entrants, run }
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

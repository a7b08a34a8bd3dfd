import type { Outcome } from '../../load/load.ts'
import { compare, type Series } from '../../measure/compare.ts'
import type { Contender, Sample } from '../../measure/contender.ts'
import type { Figure } from '../../measure/figure.ts'
import { rates, ratios, wrongIn } from '../../measure/series.ts'
import { writeTaskRole } from '../../programs/tasks/role.ts'
import type { TaskLoad, Written } from '../../programs/tasks/store.ts'
import type { Child } from '../../processes/child.ts'
import type { Used } from '../../processes/cpuUsage.ts'
import { type Bench, type CaseResult, withChildren } from '../case.ts'
import { contentionLines, fine, whole } from '../report.ts'
import type { Places } from './databases.ts'

/** What an engine may take beside bare statements: twice their time. */
const ASKED = 0.5
const KEEPERS = ['engine', 'statements'] as const

const LOADS: readonly TaskLoad[] = [
  { kind: 'tasks', inFlight: 1 },
  { kind: 'tasks', inFlight: 32 },
  { kind: 'steps', inFlight: 1 },
  { kind: 'steps', inFlight: 32 },
]

/** Tasks and steps a second on one database: by the engine, and by statements that write the same rows. */
export function taskRates(bench: Bench, places: Places): Promise<CaseResult[]> {
  const starting = KEEPERS.map((keeper) =>
    bench.startProgram('tasks', writeTaskRole({ keeper, place: places.at(keeper) })),
  )
  return withChildren(starting, async (children) => {
    const results: CaseResult[] = []
    for (const load of LOADS) results.push(await measure(bench, places, children, load))
    return results
  })
}

async function measure(bench: Bench, places: Places, children: readonly Child[], load: TaskLoad): Promise<CaseResult> {
  const { rounds, warmUpMs } = bench.plan.tasks
  const contenders = children.map((child, index): Contender => {
    const run = (ms: number): Promise<Sample> => turn(child, load, ms, places.used)
    return { name: KEEPERS[index] ?? '', warmUpMs, open: async () => ({ run, close() {} }) }
  })
  const watched = [...children, ...places.used]
  const series = await compare(contenders, rounds, (work) => bench.undisturbed(watched, work))
  const written: Written[] = []
  for (const child of children) written.push(await audit(child, load, rounds.turns * rounds.turnMs))
  return settle(`${places.database}, ${load.kind}, ${load.inFlight} at a time`, series, written)
}

/** One turn, with the CPU time of the measured process and of the database's own. */
async function turn(child: Child, load: TaskLoad, ms: number, used: readonly Used[]): Promise<Sample> {
  await child.ask('open', load)
  const before = await cpuOf([child, ...used])
  const outcome = await child.ask<Outcome>('run', { ms })
  const serverMs = (await cpuOf([child, ...used])) - before
  const firstWrong = await child.ask<string | undefined>('close')
  return { ...outcome, serverMs, loadMs: 0, ...(firstWrong !== undefined && { wrong: 1, firstWrong }) }
}

async function cpuOf(used: readonly Used[]): Promise<number> {
  const all = await Promise.all(used.map((one) => one.ask('cpu')))
  return all.reduce((sum, ms) => sum + ms, 0)
}

/** What each unit takes of the store, which counts for all that use it: nothing else may be under way. */
async function audit(child: Child, load: TaskLoad, ms: number): Promise<Written> {
  await child.ask('open', load)
  const before = await child.ask<Written>('written')
  const { count } = await child.ask<Outcome>('run', { ms })
  const after = await child.ask<Written>('written')
  await child.ask('close')
  return { commits: (after.commits - before.commits) / count, bytes: (after.bytes - before.bytes) / count }
}

function settle(label: string, series: readonly Series[], written: readonly Written[]): CaseResult {
  const [engine, statements] = series
  if (engine === undefined || statements === undefined) throw new Error('Nothing was measured.')
  const figure: Figure = { label, ...ratios(engine, statements), asked: ASKED }
  const lines = series.map((one, index) => line(label, one, written[index]))
  return {
    lines: [...lines, ...contentionLines(series)],
    figures: [figure],
    wrong: wrongIn(series),
    raw: { label, series, written },
  }
}

function line(label: string, series: Series, written: Written | undefined): string {
  const { median, low, high } = rates(series)
  const rate = `${whole(median).padStart(7)}/s (${whole(low)} … ${whole(high)})`
  const each = written && `${fine(written.commits)} commits and ${(written.bytes / 1024).toFixed(1)} KB each`
  return `${`${label}, ${series.name}`.padEnd(46)} ${rate.padEnd(30)} ${each}`
}

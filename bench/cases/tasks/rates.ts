import type { Outcome } from '../../load/load.ts'
import { compare, type Series } from '../../measure/compare.ts'
import type { Contender, Sample } from '../../measure/contender.ts'
import type { Figure } from '../../measure/figure.ts'
import { rates, ratios, wrongIn } from '../../measure/series.ts'
import { writeRole } from '../../programs/role.ts'
import type { TaskLoad, WriteCounts } from '../../programs/tasks/store.ts'
import type { Child } from '../../processes/child.ts'
import type { CpuSource } from '../../processes/cpuUsage.ts'
import { type Bench, type CaseResult, withChildren } from '../case.ts'
import { contentionLines, fine, whole } from '../report.ts'
import type { Database } from './databases.ts'

/** An engine may take twice the time of the statements. */
const REQUIRED = 0.5
const MODES = ['engine', 'statements'] as const

const LOADS: readonly TaskLoad[] = [
  { kind: 'tasks', inFlight: 1 },
  { kind: 'tasks', inFlight: 32 },
  { kind: 'steps', inFlight: 1 },
  { kind: 'steps', inFlight: 32 },
]

/** Tasks and steps a second on one database: by the engine, and by statements that write the same rows. */
export function taskRates(bench: Bench, database: Database): Promise<CaseResult[]> {
  const starting = MODES.map((mode) =>
    bench.startProgram('tasks', writeRole({ mode, location: database.locate(mode) })),
  )
  return withChildren(starting, async (children) => {
    const results: CaseResult[] = []
    for (const load of LOADS) results.push(await measure(bench, database, children, load))
    return results
  })
}

async function measure(
  bench: Bench,
  database: Database,
  children: readonly Child[],
  load: TaskLoad,
): Promise<CaseResult> {
  const { rounds, warmUpMs } = bench.plan.tasks
  const contenders = children.map((child, index): Contender => {
    const run = (ms: number): Promise<Sample> => turn(child, load, ms, database.processes)
    return { name: MODES[index] ?? '', warmUpMs, open: async () => ({ run, close() {} }) }
  })
  const measured = [...children, ...database.processes]
  const series = await compare(contenders, rounds, (work) => bench.undisturbed(measured, work))
  const written: WriteCounts[] = []
  for (const child of children) written.push(await measureWrites(child, load, rounds.turns * rounds.turnMs))
  return settle(`${database.name}, ${load.kind}, ${load.inFlight} at a time`, series, written)
}

/** One turn, with the CPU time of the measured process and of the database's processes. */
async function turn(child: Child, load: TaskLoad, ms: number, processes: readonly CpuSource[]): Promise<Sample> {
  await child.ask('open', load)
  const before = await cpuOf([child, ...processes])
  const outcome = await child.ask<Outcome>('run', { ms })
  const serverMs = (await cpuOf([child, ...processes])) - before
  const firstWrong = await child.ask<string | undefined>('close')
  return { ...outcome, serverMs, loadMs: 0, ...(firstWrong !== undefined && { wrong: 1, firstWrong }) }
}

async function cpuOf(processes: readonly CpuSource[]): Promise<number> {
  const all = await Promise.all(processes.map((one) => one.ask('cpu')))
  return all.reduce((sum, ms) => sum + ms, 0)
}

/** Commits and bytes of each unit. The store counts for all of its users, so nothing else may run meanwhile. */
async function measureWrites(child: Child, load: TaskLoad, ms: number): Promise<WriteCounts> {
  await child.ask('open', load)
  const before = await child.ask<WriteCounts>('writeCounts')
  const { count } = await child.ask<Outcome>('run', { ms })
  const after = await child.ask<WriteCounts>('writeCounts')
  await child.ask('close')
  return { commits: (after.commits - before.commits) / count, bytes: (after.bytes - before.bytes) / count }
}

function settle(label: string, series: readonly Series[], written: readonly WriteCounts[]): CaseResult {
  const [engine, statements] = series
  if (engine === undefined || statements === undefined) throw new Error('Nothing was measured.')
  const figure: Figure = { label, ...ratios(engine, statements), required: REQUIRED }
  const lines = series.map((one, index) => line(label, one, written[index]))
  return {
    lines: [...lines, ...contentionLines(series)],
    figures: [figure],
    wrong: wrongIn(series),
    raw: { label, series, written },
  }
}

function line(label: string, series: Series, written: WriteCounts | undefined): string {
  const { median, low, high } = rates(series)
  const rate = `${whole(median).padStart(7)}/s (${whole(low)} … ${whole(high)})`
  const each = written && `${fine(written.commits)} commits and ${(written.bytes / 1024).toFixed(1)} KB each`
  return `${`${label}, ${series.name}`.padEnd(46)} ${rate.padEnd(30)} ${each}`
}

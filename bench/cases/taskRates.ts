import { compare, type Series } from '../measure/compare.ts'
import type { Contender, Sample } from '../measure/contender.ts'
import type { Figure } from '../measure/figure.ts'
import { rates, ratios, wrongIn } from '../measure/series.ts'
import { writeTaskRole } from '../peers/taskRole.ts'
import type { TaskStore, Written } from '../peers/taskStore.ts'
import type { Child } from '../processes/child.ts'
import type { Used } from '../processes/usage.ts'
import { type Bench, type CaseResult, withChildren } from './case.ts'
import { contentionLines, fine, whole } from './lines.ts'
import type { Places } from './taskPlaces.ts'

/** What an engine may take beside bare statements: twice their time. */
const ASKED = 0.5
const KEEPERS = ['engine', 'statements'] as const

interface TaskRate {
  kind: Exclude<keyof TaskStore, 'written'>
  inFlight: number
}

const RATES: readonly TaskRate[] = [
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
    for (const one of RATES) results.push(await measure(bench, places, children, one))
    return results
  })
}

async function measure(bench: Bench, places: Places, children: readonly Child[], one: TaskRate): Promise<CaseResult> {
  const { rounds, warmUpMs } = bench.plan.tasks
  const contenders = children.map((child, index): Contender => {
    const run = (ms: number): Promise<Sample> => turn(child, one, ms, places.used)
    return { name: KEEPERS[index] ?? '', warmUpMs, open: async () => ({ run, close() {} }) }
  })
  const watched = [...children, ...places.used]
  const series = await compare(contenders, rounds, (work) => bench.undisturbed(watched, work))
  const written: Written[] = []
  for (const child of children) written.push(await audit(child, one, rounds.turns * rounds.turnMs))
  return settle(`${places.database}, ${one.kind}, ${one.inFlight} at a time`, series, written)
}

/** One turn, with the CPU time of the measured process and of the database's own. */
async function turn(child: Child, { kind, inFlight }: TaskRate, ms: number, used: readonly Used[]): Promise<Sample> {
  const before = await cpuOf(used)
  const sample = await child.ask<Sample>(kind, { limit: { ms }, inFlight })
  return { ...sample, serverMs: sample.serverMs + (await cpuOf(used)) - before }
}

async function cpuOf(used: readonly Used[]): Promise<number> {
  const all = await Promise.all(used.map((one) => one.ask('cpu')))
  return all.reduce((sum, ms) => sum + ms, 0)
}

/** What each unit takes of the store, which counts for all that use it: nothing else may be under way. */
async function audit(child: Child, { kind, inFlight }: TaskRate, ms: number): Promise<Written> {
  const before = await child.ask<Written>('written')
  const { count } = await child.ask<Sample>(kind, { limit: { ms }, inFlight })
  const after = await child.ask<Written>('written')
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

import type { Figure } from '../../measure/figure.ts'
import { quantile, spreadOf } from '../../measure/statistics.ts'
import { writeRole } from '../../programs/role.ts'
import { type Bench, type Case, type CaseResult, mergeResults, withChild } from '../case.ts'
import { fine, whole } from '../report.ts'
import { type Database, withDatabases } from './databases.ts'

/** One page of a list, in milliseconds, and what lists may add to the memory of their process, in MB. */
const REQUIRED = { ms: 20, megabytes: 8 }
const MEGABYTE = 1_000_000
/** How many questions are asked in one request to the program. */
const PORTION = 2_000

/** Lists of open questions, while there are many of others. */
export const questions: Case = {
  title: 'lists of open questions of one person, while many are open',
  programs: ['openQuestions'],
  run: (bench) =>
    withDatabases(async (all) => {
      const results: CaseResult[] = []
      for (const database of all) results.push(await measureOver(bench, database))
      return mergeResults(results)
    }),
}

function measureOver(bench: Bench, database: Database): Promise<CaseResult> {
  const role = writeRole({ mode: 'answers', location: database.locate('questions') })
  const { tasks: count } = bench.plan.growth
  return withChild(bench.startProgram('openQuestions', role), async (server) => {
    const lists = (): Promise<Record<string, number[]>> => server.ask('measureLists', bench.plan.tasks.answers)
    await server.ask('fill', { count: 1, addressee: 'sub:kim' })
    for (let open = 0; open < count; open += PORTION)
      await server.ask('fill', { count: Math.min(PORTION, count - open), addressee: 'role:manager' })
    await lists()
    const before = await server.ask<NodeJS.MemoryUsage>('memory')
    const measured = await bench.undisturbed([server, ...database.processes], async () => ({ times: await lists() }))
    const after = await server.ask<NodeJS.MemoryUsage>('memory')
    const grown = (after.rss - before.rss) / MEGABYTE
    return settle(`${database.name}, ${whole(count)} open`, measured.times, grown)
  })
}

function settle(where: string, times: Record<string, number[]>, megabytes: number): CaseResult {
  const lists = Object.entries(times)
  const figures = lists.map(
    ([whose, values]): Figure => ({
      label: `list ${whose}, ms, ${where}`,
      value: spreadOf(values),
      required: REQUIRED.ms,
      wanted: 'atMost',
    }),
  )
  const memory: Figure = {
    label: `memory of lists, MB, ${where}`,
    value: spreadOf([megabytes]),
    required: REQUIRED.megabytes,
    wanted: 'atMost',
  }
  const lines = lists.map(
    ([whose, values]) =>
      `${`${where}, list ${whose}`.padEnd(64)} p50 ${fine(quantile(values, 0.5))} ms, p95 ${fine(quantile(values, 0.95))} ms`,
  )
  return { lines, figures: [...figures, memory], wrong: { count: 0 }, raw: { where, times, megabytes } }
}

import type { Figure } from '../../measure/figure.ts'
import { quantile, spreadOf } from '../../measure/statistics.ts'
import type { AnswerTime } from '../../programs/tasks/answerLatency.ts'
import { writeRole } from '../../programs/role.ts'
import type { Child } from '../../processes/child.ts'
import { LOAD_CORE, SERVER_CORE } from '../../processes/affinity.ts'
import { type Bench, type CaseResult, withChildren } from '../case.ts'
import { fine } from '../report.ts'
import type { Database } from './databases.ts'

/** The maximum median time from an answer until the run continues, in milliseconds. */
const REQUIRED: Record<Database['name'], number> = { SQLite: 50, PostgreSQL: 150 }

/** The time from an answer until the run continues: in the process that got the answer, and in another process. */
export function answerLatency(bench: Bench, database: Database): Promise<CaseResult[]> {
  const role = writeRole({ mode: 'answers', location: database.locate('answers') })
  const starting = [SERVER_CORE, LOAD_CORE].map((core) => bench.startProgram('tasks', role, core))
  return withChildren(starting, async ([worker, other]) => {
    if (worker === undefined || other === undefined) throw new Error('Nothing was started.')
    await worker.ask('work')
    const time = async (child: Child): Promise<AnswerTime[]> => {
      const ask = (): Promise<AnswerTime[]> => child.ask('measureAnswers', bench.plan.tasks.answers)
      const { times } = await bench.undisturbed([worker, other, ...database.processes], async () => ({
        times: await ask(),
      }))
      return times
    }
    const [sameProcess, otherProcess] = [await time(worker), await time(other)]
    return [settle(database.name, 'one process', sameProcess), settle(database.name, 'two processes', otherProcess)]
  })
}

function settle(database: Database['name'], where: string, times: readonly AnswerTime[]): CaseResult {
  const called = times.map(({ sinceCalled }) => sinceCalled)
  const returned = times.map(({ sinceReturned }) => sinceReturned)
  const label = `${database}, ms, ${where}`
  const figure: Figure = { label, value: spreadOf(called), required: REQUIRED[database], wanted: 'atMost' }
  const since = (values: readonly number[]): string =>
    `p50 ${fine(quantile(values, 0.5))} ms, p95 ${fine(quantile(values, 0.95))} ms`
  const line = `${database}, answer to run, ${where}`.padEnd(46)
  return {
    lines: [`${line} ${since(called)} after it was called; ${since(returned)} after it returned`],
    figures: [figure],
    wrong: { count: 0 },
    raw: { label, times },
  }
}

import type { Figure } from '../../measure/figure.ts'
import { quantile, spreadOf } from '../../measure/statistics.ts'
import type { AnswerTime } from '../../programs/tasks/answerLatency.ts'
import { writeTaskRole } from '../../programs/tasks/role.ts'
import type { Place } from '../../programs/tasks/engines.ts'
import type { Child } from '../../processes/child.ts'
import { LOAD_CORE, SERVER_CORE } from '../../processes/affinity.ts'
import { type Bench, type CaseResult, withChildren } from '../case.ts'
import { fine } from '../report.ts'
import type { Places } from './databases.ts'

/** What half of the answers may take until the run goes on, in milliseconds. */
const ASKED: Record<Place['database'], number> = { SQLite: 50, PostgreSQL: 150 }

/** From an answer to the run that goes on with it: where the answer comes in, and in another process. */
export function answerLatency(bench: Bench, places: Places): Promise<CaseResult[]> {
  const role = writeTaskRole({ keeper: 'answers', place: places.at('answers') })
  const starting = [SERVER_CORE, LOAD_CORE].map((core) => bench.startProgram('tasks', role, core))
  return withChildren(starting, async ([worker, other]) => {
    if (worker === undefined || other === undefined) throw new Error('Nothing was started.')
    await worker.ask('work')
    const time = async (child: Child): Promise<AnswerTime[]> => {
      const ask = (): Promise<AnswerTime[]> => child.ask('answerTimes', bench.plan.tasks.answers)
      const { times } = await bench.undisturbed([worker, other, ...places.used], async () => ({ times: await ask() }))
      return times
    }
    const [atHome, between] = [await time(worker), await time(other)]
    return [settle(places.database, 'one process', atHome), settle(places.database, 'two processes', between)]
  })
}

function settle(database: Place['database'], where: string, times: readonly AnswerTime[]): CaseResult {
  const called = times.map(({ sinceCalled }) => sinceCalled)
  const returned = times.map(({ sinceReturned }) => sinceReturned)
  const label = `${database}, ms, ${where}`
  const figure: Figure = { label, value: spreadOf(called), asked: ASKED[database], wanted: 'atMost' }
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

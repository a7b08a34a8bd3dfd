import { answerLatency } from './answerLatency.ts'
import { type Case, type CaseResult, mergeResults } from '../case.ts'
import { withDatabases } from './databases.ts'
import { taskRates } from './rates.ts'

/** The bench starts its own PostgreSQL. */
export const tasks: Case = {
  title: 'tasks made and ended, steps committed, answers given: engines beside prepared statements that write the same',
  programs: ['tasks'],
  run: (bench) =>
    withDatabases(async (all) => {
      const results: CaseResult[] = []
      for (const database of all) results.push(...(await taskRates(bench, database)))
      for (const database of all) results.push(...(await answerLatency(bench, database)))
      return mergeResults(results)
    }),
}

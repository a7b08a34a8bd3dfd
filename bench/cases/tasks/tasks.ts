import { answerLatency } from './answerLatency.ts'
import type { Case, CaseResult } from '../case.ts'
import { withPlaces } from './databases.ts'
import { taskRates } from './rates.ts'
import { together } from '../mergeResults.ts'

/** The bench starts a PostgreSQL of its own. */
export const tasks: Case = {
  title: 'tasks made and ended, steps committed, answers given: engines beside prepared statements that write the same',
  programs: ['tasks'],
  run: (bench) =>
    withPlaces(async (all) => {
      const results: CaseResult[] = []
      for (const places of all) results.push(...(await taskRates(bench, places)))
      for (const places of all) results.push(...(await answerLatency(bench, places)))
      return together(results)
    }),
}

import { answerLatency } from './answerLatency.ts'
import type { Case, CaseResult } from './case.ts'
import { withPlaces } from './taskPlaces.ts'
import { taskRates } from './taskRates.ts'

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

function together(results: readonly CaseResult[]): CaseResult {
  const first = results.find(({ wrong }) => wrong.first !== undefined)?.wrong.first
  const count = results.reduce((sum, { wrong }) => sum + wrong.count, 0)
  return {
    lines: results.flatMap(({ lines }) => lines),
    figures: results.flatMap(({ figures }) => figures),
    wrong: first === undefined ? { count } : { count, first },
    raw: results.map(({ raw }) => raw),
  }
}

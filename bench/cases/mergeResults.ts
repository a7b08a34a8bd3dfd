import type { CaseResult } from './case.ts'

/** The results of several measurements as those of one case. */
export function mergeResults(results: readonly CaseResult[]): CaseResult {
  const first = results.find(({ wrong }) => wrong.first !== undefined)?.wrong.first
  const count = results.reduce((sum, { wrong }) => sum + wrong.count, 0)
  return {
    lines: results.flatMap(({ lines }) => lines),
    figures: results.flatMap(({ figures }) => figures),
    wrong: first === undefined ? { count } : { count, first },
    raw: results.map(({ raw }) => raw),
  }
}

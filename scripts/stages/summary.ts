import type { Outcome, Stage, TimedTest } from './stages.ts'
import { shorten } from './verdict.ts'

const slowestShown = 10
const detailsShown = 20
const detailLinesAtEnd = 12

export interface FinishedStage {
  stage: Stage
  outcome: Outcome
}

/** One line for a stage, and below it each failure. */
export function stageLines({ name }: Stage, { passed, failures }: Outcome, ms: number): string[] {
  const counts = failures.length === 0 ? `${passed} passed` : `${passed} passed, ${failures.length} failed`
  const seconds = `${(ms / 1000).toFixed(1)} s`
  return [
    `${failures.length === 0 ? 'ok  ' : 'FAIL'}  ${name.padEnd(12)} ${seconds.padStart(8)}   ${counts}`,
    ...failures.slice(0, detailsShown).flatMap((failure) => [`      × ${failure.name}`, indent(failure.detail, 8)]),
    ...failures.slice(detailsShown).map((failure) => `      × ${failure.name}`),
  ]
}

export function slowestLines(tests: readonly TimedTest[]): string[] {
  if (tests.length === 0) return []
  const slowest = tests.toSorted((a, b) => b.ms - a.ms).slice(0, slowestShown)
  return [
    '',
    `The slowest of ${tests.length} tests:`,
    ...slowest.map(({ file, name, ms }) => `${(ms / 1000).toFixed(1).padStart(6)} s  ${file} > ${name}`),
  ]
}

/** Everything that failed, and in the last line the counts. */
export function lastLines(finished: readonly FinishedStage[]): string[] {
  const passed = finished.reduce((sum, { outcome }) => sum + outcome.passed, 0)
  const failed = finished.flatMap(({ stage, outcome }) =>
    outcome.failures.map(
      ({ name, detail }) => `  × ${stage.name}: ${name}\n${indent(shorten(detail, detailLinesAtEnd), 6)}`,
    ),
  )
  return ['', ...(failed.length === 0 ? [] : ['Failed:', ...failed, '']), `${passed} passed, ${failed.length} failed`]
}

function indent(text: string, spaces: number): string {
  return text.replace(/^(?=.)/gm, ' '.repeat(spaces))
}

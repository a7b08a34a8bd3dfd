import type { Outcome, Stage, TimedTest } from './stages.ts'
import { type Failure, shorten } from './verdict.ts'

export interface StageFailure {
  stage: Stage
  failure: Failure
}

const slowestShown = 10
const detailsShown = 20
const detailLinesAtEnd = 12

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

/** Tests that failed at first: their second try hides no fault. */
export function retriedLines(tests: readonly TimedTest[]): string[] {
  const retried = tests.filter(({ isRetried }) => isRetried)
  if (retried.length === 0) return []
  const entries = retried.map(
    ({ file, name, errors }) => `  × ${file} > ${name}\n${indent(shorten(errors[0]?.message ?? '', 5), 6)}`,
  )
  return ['', 'Passed only at the second try:', ...entries]
}

/** What failed, and in the last line the counts. */
export function lastLines(passed: number, failed: readonly StageFailure[]): string[] {
  const entries = failed.map(
    ({ stage, failure }) =>
      `  × ${stage.name}: ${failure.name}\n${indent(shorten(failure.detail, detailLinesAtEnd), 6)}`,
  )
  return ['', ...(failed.length === 0 ? [] : ['Failed:', ...entries, '']), `${passed} passed, ${failed.length} failed`]
}

function indent(text: string, spaces: number): string {
  return text.replace(/^(?=.)/gm, ' '.repeat(spaces))
}

import type { Repeated, StageFailure } from './repeat.ts'
import type { Outcome, Stage, TimedTest } from './stages.ts'
import { shorten } from './verdict.ts'

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

/** What a reader must not miss, and in the last line the counts. */
export function lastLines(passed: number, { failed, unsteady }: Repeated): string[] {
  return [
    '',
    ...section(
      'Passed only alone, after a failure beside the other stages. Such a test is unsteady; mend it:',
      unsteady,
    ),
    ...section('Failed:', failed),
    `${passed + unsteady.length} passed, ${failed.length} failed`,
  ]
}

function section(title: string, failures: readonly StageFailure[]): string[] {
  if (failures.length === 0) return []
  const entries = failures.map(
    ({ stage, failure }) =>
      `  × ${stage.name}: ${failure.name}\n${indent(shorten(failure.detail, detailLinesAtEnd), 6)}`,
  )
  return [title, ...entries, '']
}

function indent(text: string, spaces: number): string {
  return text.replace(/^(?=.)/gm, ' '.repeat(spaces))
}

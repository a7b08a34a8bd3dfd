// What a run of vitest amounts to, read from the report of reporter.ts.

export interface Report {
  tests: readonly ReportedTest[]
  /** Files that cannot be loaded, and files and groups whose hooks failed. */
  broken: readonly (TestPlace & { errors: readonly ReportedError[] })[]
  /** Errors that belong to no test. */
  unhandled: readonly ReportedError[]
}

export interface TestPlace {
  project: string
  file: string
  /** Of the test with its groups, or of a group; empty for the whole file. */
  name: string
}

export interface ReportedTest extends TestPlace {
  state: string
  ms: number
  errors: readonly ReportedError[]
}

export interface ReportedError {
  message: string
  diff: string
  frames: readonly string[]
}

export interface Failure {
  name: string
  /** What went wrong: assertion, difference and stack, or the output of a command. */
  detail: string
  /** Where it is a test, or a group of tests whose hooks failed: what to run again. */
  place?: TestPlace
}

export interface Verdict {
  passed: number
  failures: readonly Failure[]
}

const linesShown = 40

/**
 * Everything but a passed test is a failure: skipped and todo tests, files that cannot be loaded, hooks, and errors that
 * belong to no test. Tests that did not run because their group broke are counted with it.
 */
export function judge({ tests, broken, unhandled }: Report): Verdict {
  const isBroken = ({ file, name }: TestPlace): boolean =>
    broken.some((part) => part.file === file && name.startsWith(part.name))
  const passed = tests.filter(({ state }) => state === 'passed')
  const notPassed = tests.filter((test) => test.state !== 'passed' && (test.errors.length > 0 || !isBroken(test)))
  return {
    passed: passed.length,
    failures: [
      ...notPassed.map((test) => failureOf(test, describeState(test))),
      ...broken.map((part) => failureOf(part, part.errors.map(describe).join('\n'))),
      ...unhandled.map((error) => ({ name: 'an error outside of all tests', detail: describe(error) })),
    ],
  }
}

/** Whether a test that ran again, alone, has passed. The others of its file, which did not run, do not matter. */
export function hasPassed({ file, name }: TestPlace, { tests, broken, unhandled }: Report): boolean {
  const meant = tests.filter((test) => test.file === file && test.name.startsWith(name))
  return broken.length + unhandled.length === 0 && meant.length > 0 && meant.every(({ state }) => state === 'passed')
}

/** The pattern for vitest that selects a test, or a group, by its name. It joins names by spaces, reports by ` > `. */
export function namePattern(name: string): string {
  return `^${name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' > ', ' (?:> )?')}( |$)`
}

/** A text of at most so many lines: the first and the last of it. */
export function shorten(text: string, most = linesShown): string {
  const lines = text.trimEnd().split('\n')
  if (lines.length <= most) return lines.join('\n')
  const half = Math.floor(most / 2)
  return [...lines.slice(0, half), `… ${lines.length - 2 * half} more lines …`, ...lines.slice(-half)].join('\n')
}

function failureOf({ project, file, name }: TestPlace, detail: string): Failure {
  return { name: name === '' ? file : `${file} > ${name}`, detail, place: { project, file, name } }
}

function describeState({ state, errors }: ReportedTest): string {
  return errors.length === 0 ? `${state}, which counts as failed` : errors.map(describe).join('\n')
}

function describe({ message, diff, frames }: ReportedError): string {
  const parts = [shorten(message), ...(diff === '' ? [] : [shorten(diff)]), ...frames.map((frame) => `  ${frame}`)]
  return parts.join('\n')
}

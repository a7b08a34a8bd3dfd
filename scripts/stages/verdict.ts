// What a run of vitest amounts to, read from the report of reporter.ts.

export interface Report {
  tests: readonly ReportedTest[]
  /** Files that cannot be loaded, and files and groups whose hooks failed. */
  broken: readonly (TestPlace & { errors: readonly ReportedError[] })[]
  /** Errors that belong to no test. */
  unhandled: readonly ReportedError[]
}

export interface TestPlace {
  file: string
  /** Of the test with its groups, or of a group; empty for the whole file. */
  name: string
}

export interface ReportedTest extends TestPlace {
  state: string
  ms: number
  /** Whether it failed at first, and passed at the second try. */
  isRetried?: boolean
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

/** The first and the last lines of a text that is too long. */
export function shorten(text: string, most = linesShown): string {
  const lines = text.trimEnd().split('\n')
  if (lines.length <= most) return lines.join('\n')
  const half = Math.floor(most / 2)
  return [...lines.slice(0, half), `… ${lines.length - 2 * half} more lines …`, ...lines.slice(-half)].join('\n')
}

function failureOf({ file, name }: TestPlace, detail: string): Failure {
  return { name: name === '' ? file : `${file} > ${name}`, detail }
}

function describeState({ state, errors }: ReportedTest): string {
  return errors.length === 0 ? `${state}, which counts as failed` : errors.map(describe).join('\n')
}

function describe({ message, diff, frames }: ReportedError): string {
  const parts = [shorten(message), ...(diff === '' ? [] : [shorten(diff)]), ...frames.map((frame) => `  ${frame}`)]
  return parts.join('\n')
}

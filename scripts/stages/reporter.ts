import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite } from 'vitest/node'
import { root } from '../repository.ts'
import type { Report, ReportedError, ReportedTest } from './verdict.ts'

/** The environment variable with the file that the report is written to. */
export const reportVariable = 'PANNIER_TEST_REPORT'

const framesShown = 6

/** A reporter for vitest: it writes what became of each test, and nothing else. */
export default class StageReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const report: Report = {
      tests: modules.flatMap((module) => [...module.children.allTests()].map(describeTest)),
      broken: modules.flatMap((module) =>
        [module, ...module.children.allSuites()]
          .filter((part) => part.errors().length > 0)
          .map((part) => ({ ...placeOf(part), errors: part.errors().map(describeError) })),
      ),
      unhandled: unhandled.map(describeError),
    }
    const file = process.env[reportVariable]
    if (file === undefined) throw new Error(`${reportVariable} does not say where the report goes.`)
    writeFileSync(file, JSON.stringify(report))
  }
}

function describeTest(test: TestCase): ReportedTest {
  const { state, errors = [] } = test.result()
  const { duration = 0, flaky = false } = test.diagnostic() ?? {}
  return { ...placeOf(test), state, ms: duration, isRetried: flaky, errors: errors.map(describeError) }
}

function placeOf(part: TestCase | TestSuite | TestModule): { file: string; name: string } {
  const module = part.type === 'module' ? part : part.module
  return {
    file: relative(root, module.moduleId),
    name: part.type === 'module' ? '' : part.fullName,
  }
}

function describeError({ name, message, diff, stacks = [], stack = '' }: SerializedError): ReportedError {
  const frames = stacks
    .filter(({ file }) => !file.includes('/node_modules/'))
    .map(({ file, line, column, method }) =>
      ['at', method, `${relative(root, file)}:${line}:${column}`].filter(Boolean).join(' '),
    )
  return {
    message: `${name ?? 'Error'}: ${message}`,
    diff: typeof diff === 'string' ? diff : '',
    frames: (frames.length > 0 ? frames : linesOf(stack)).slice(0, framesShown),
  }
}

function linesOf(stack: string): string[] {
  return stack
    .split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .map((line) => line.trim())
}

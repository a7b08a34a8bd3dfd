import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isTest, listFiles, readText } from '../repository.ts'
import { runCommand } from './command.ts'
import type { Outcome, TimedTest } from './stages.ts'

/** The part of vitest's JSON report that we count. */
export interface Report {
  testResults: {
    name: string
    status: string
    assertionResults: { fullName: string; status: string; duration?: number | null }[]
  }[]
}

/** Runs one project of vitest.config.ts and counts its tests. */
export function runProject(project: string): Promise<Outcome> {
  return runVitest(['--project', project])
}

/** Runs the tests that have two forms (test/amount.ts) in their long form. */
export function runLongForms(): Promise<Outcome> {
  const files = listFiles().filter((path) => isTest(path) && /from '[^']*\/amount\.ts'/.test(readText(path)))
  return runVitest(files, { PANNIER_TESTS: 'long' })
}

async function runVitest(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-test-'))
  const file = join(folder, 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  const { exitCode, output } = await runCommand(['vitest', 'run', ...args, ...reporters], env)
  try {
    return countTests(JSON.parse(readFileSync(file, 'utf8')) as Report, exitCode, output)
  } catch {
    return { passed: 0, failed: 1, output: `${output}\nvitest wrote no report\n` }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Everything but a passed test counts as failed: skipped and todo tests, and files that cannot be loaded. */
export function countTests(report: Report, exitCode: number, output: string): Outcome {
  const tests = report.testResults.flatMap((file) => file.assertionResults)
  const passed = tests.filter(({ status }) => status === 'passed').length
  const left = tests.filter(({ status }) => status !== 'passed' && status !== 'failed')
  const broken = report.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0)
  const failed = tests.length - passed + broken.length
  const notes = left.map(({ fullName, status }) => `${status} counts as failed: ${fullName}\n`)
  return {
    passed,
    // Vitest can fail with no failed test: an unhandled rejection, or no tests at all.
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    output: output + notes.join(''),
    tests: tests.map(({ fullName, duration }): TimedTest => ({ name: fullName, ms: duration ?? 0 })),
  }
}

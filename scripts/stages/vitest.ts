import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isTest, listFiles, readText } from '../repository.ts'
import { type Finished, runCommand } from './command.ts'
import { reportVariable } from './reporter.ts'
import type { Outcome } from './stages.ts'
import { type Failure, hasPassed, judge, namePattern, type Report, shorten, type TestPlace } from './verdict.ts'

type Environment = Readonly<Record<string, string>>

export const longForms = { PANNIER_TESTS: 'long' }

/** Runs one project of vitest.config.ts and counts its tests. */
export function runProject(project: string): Promise<Outcome> {
  return runTests(['--project', project])
}

/** Runs the tests that have two forms (test/amount.ts) in their long form. */
export function runLongForms(): Promise<Outcome> {
  const files = listFiles().filter((path) => isTest(path) && /from '[^']*\/amount\.ts'/.test(readText(path)))
  return runTests(files, longForms)
}

/** Whether a test passes when nothing else runs. */
export async function passesAlone({ place }: Failure, env?: Environment): Promise<boolean> {
  if (place === undefined) return false
  const { report, exitCode } = await runVitest([place.file, ...selection(place)], env)
  return report !== undefined && exitCode === 0 && hasPassed(place, report)
}

function selection({ project, name }: TestPlace): string[] {
  return ['--project', project, ...(name === '' ? [] : ['--testNamePattern', namePattern(name)])]
}

async function runTests(args: readonly string[], env?: Environment): Promise<Outcome> {
  const { report, exitCode, output } = await runVitest(args, env)
  const { passed, failures } = report === undefined ? { passed: 0, failures: [] } : judge(report)
  if (failures.length > 0 || (exitCode === 0 && report !== undefined)) {
    return { passed, failures, tests: report?.tests ?? [] }
  }
  const detail = shorten(output)
  return {
    passed,
    failures: [{ name: report === undefined ? 'vitest wrote no report' : `vitest: ${exitCode}`, detail }],
  }
}

async function runVitest(args: readonly string[], env: Environment = {}): Promise<Finished & { report?: Report }> {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-test-'))
  const file = join(folder, 'report.json')
  const reporter = join(import.meta.dirname, 'reporter.ts')
  try {
    const finished = await runCommand(['vitest', 'run', ...args, `--reporter=${reporter}`], {
      ...env,
      [reportVariable]: file,
    })
    const report = readReport(file)
    return report === undefined ? finished : { ...finished, report }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readReport(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report
  } catch {
    return undefined
  }
}

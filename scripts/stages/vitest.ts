import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasLongForm, listFiles } from '../repository.ts'
import { type Finished, runCommand } from './command.ts'
import { reportVariable } from './reporter.ts'
import type { Outcome } from './stages.ts'
import { judge, type Report, shorten } from './verdict.ts'

export const longForms = { PANNIER_TESTS: 'long' }

/** Runs one project of vitest.config.ts and counts its tests. */
export function runProject(project: string): Promise<Outcome> {
  return runTests(['--project', project])
}

/** Runs what `npm test` runs only in a short form, or leaves out. */
export function runLongForms(): Promise<Outcome> {
  return runTests(listFiles().filter(hasLongForm), longForms)
}

async function runTests(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Outcome> {
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

async function runVitest(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Finished & { report?: Report }> {
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

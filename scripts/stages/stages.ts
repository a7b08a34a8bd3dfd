import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../repository.ts'
import { runCommand } from './command.ts'
import { runLongForms, runProject } from './vitest.ts'

export interface Outcome {
  passed: number
  failed: number
  /** What to show when something failed. */
  output: string
  /** Where a stage runs tests: all of them. */
  tests?: readonly TimedTest[]
}

export interface TimedTest {
  name: string
  ms: number
}

export interface Stage {
  name: string
  /** Whether it starts programs of the repository as processes. */
  startsPrograms?: boolean
  /** Whether it runs only when it is named. */
  onlyNamed?: boolean
  run(): Promise<Outcome>
}

const source = '--conditions=pannier-source'

/** Everything `npm test` checks: first what mostly waits, so that the others fit beside it, then the quick. */
export const stages: readonly Stage[] = [
  tests('e2e'),
  tests('survival'),
  checks('format', [['biome', 'format', '.']]),
  checks('lint', [['oxlint']]),
  checks('types', [['tsc', '--noEmit']]),
  checks(
    'docs',
    ['fences', 'links', 'requirements'].map((name) => ['node', 'scripts/docs.ts', 'check', name]),
  ),
  checks('package', [
    ['knip'],
    ['tsdown', '--logLevel', 'warn'],
    ['publint', '--strict'],
    ['node', 'scripts/builtPackage.ts'],
  ]),
  tests('unit'),
  ...(existsSync(join(root, 'conformance/run.ts'))
    ? [{ ...checks('conformance', [['node', source, 'conformance/run.ts']]), startsPrograms: true }]
    : []),
  { name: 'long', startsPrograms: true, onlyNamed: true, run: runLongForms },
]

/** A project of vitest.config.ts. */
function tests(name: string): Stage {
  return { name, startsPrograms: true, run: () => runProject(name) }
}

/** A stage of commands; each counts as one check and passes when it exits with 0. */
function checks(name: string, commands: readonly (readonly string[])[]): Stage {
  return { name, run: () => runChecks(commands) }
}

async function runChecks(commands: readonly (readonly string[])[]): Promise<Outcome> {
  const outcome: Outcome = { passed: 0, failed: 0, output: '' }
  for (const command of commands) {
    const { exitCode, output } = await runCommand(command)
    if (exitCode === 0) outcome.passed++
    else {
      outcome.failed++
      outcome.output += `$ ${command.join(' ')}\n${output.trimEnd()}\n`
    }
  }
  return outcome
}

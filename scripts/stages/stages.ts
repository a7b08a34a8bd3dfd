import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../repository.ts'
import { runCommand } from './command.ts'
import { type Failure, shorten, type Verdict } from './verdict.ts'
import { longForms, runLongForms, runProject } from './vitest.ts'

export interface Outcome extends Verdict {
  /** Where a stage runs tests: all of them. */
  tests?: readonly TimedTest[]
}

export interface TimedTest {
  file: string
  name: string
  ms: number
  isRetried?: boolean
  errors: readonly { message: string }[]
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
const checkLinesShown = 100

/** Everything `npm test` checks: first what mostly waits, so that the others fit beside it, then the quick. */
export const stages: readonly Stage[] = [
  tests('e2e'),
  tests('survival'),
  checks('format', [['biome', 'format', '.']]),
  // The linter knows the types and reports their errors too; the compiler, for itself, would read everything again.
  checks('lint', [['oxlint', '--type-check']]),
  checks(
    'docs',
    ['fences', 'links', 'reference', 'requirements'].map((name) => ['node', source, 'scripts/docs.ts', 'check', name]),
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
  { ...checks('types', [['tsc', '--noEmit']]), onlyNamed: true },
  // One after the other, because both build the package.
  {
    ...checks(
      'installed',
      ['peers', 'created'].map((name) => ['node', source, `scripts/${name}.ts`]),
    ),
    onlyNamed: true,
  },
  // What this machine cannot do, they only say.
  {
    ...checks(
      'image',
      ['image', 'manifests'].map((name) => ['node', `scripts/${name}.ts`]),
    ),
    onlyNamed: true,
  },
  {
    ...checks('suite', [['node', source, 'conformance/run.ts']], longForms),
    startsPrograms: true,
    onlyNamed: true,
  },
  { name: 'long', startsPrograms: true, onlyNamed: true, run: runLongForms },
]

/** A project of vitest.config.ts. */
function tests(name: string): Stage {
  return { name, startsPrograms: true, run: () => runProject(name) }
}

/** A stage of commands; each counts as one check and passes when it exits with 0. */
function checks(name: string, commands: readonly (readonly string[])[], env?: Readonly<Record<string, string>>): Stage {
  return { name, run: () => runChecks(commands, env) }
}

async function runChecks(
  commands: readonly (readonly string[])[],
  env?: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const failures: Failure[] = []
  for (const command of commands) {
    const { exitCode, output } = await runCommand(command, env)
    if (exitCode !== 0) failures.push({ name: command.join(' '), detail: shorten(output, checkLinesShown) })
  }
  return { passed: commands.length - failures.length, failures }
}

/**
 * Runs test files in the folder of a copy, one run after the other, as its parent asks. Vitest stays loaded between runs, and
 * with it what it has transformed and the PostgreSQL that tests start; each run has fresh workers.
 */
import { join } from 'node:path'
import { createVitest, type Reporter, type TestSpecification } from 'vitest/node'

/** What the parent asks for. Paths are relative to the copy. */
export interface TestRequest {
  files: readonly string[]
  /** The sources that are others than in the last run. */
  changed: readonly string[]
  /** Whether the first failed test ends the run. */
  bail: boolean
}

/** What a run of some test files came to. */
export interface TestRun {
  failed: boolean
  /** The name of the first test that failed, or what else went wrong. */
  by: string
  /** By the path of the test file. */
  files: Record<string, { passed: boolean; ms: number }>
}

/** Keeps the files in the order in which they were asked for. */
class AsAsked {
  shard(files: TestSpecification[]): TestSpecification[] {
    return files
  }

  sort(files: TestSpecification[]): TestSpecification[] {
    return files
  }
}

let run: TestRun = { failed: false, by: '', files: {} }

function fail(by: string): void {
  if (!run.failed) run = { ...run, failed: true, by }
}

const reporter: Reporter = {
  onTestCaseResult(test) {
    if (test.result().state === 'failed') fail(test.fullName)
  },
  onTestModuleEnd(module) {
    // Vitest can fail without a failed test: a file that cannot be loaded, a hook.
    if (!module.ok()) fail(module.relativeModuleId)
    run.files[module.relativeModuleId] = { passed: module.ok(), ms: Math.round(module.diagnostic().duration) }
  },
  onTestRunEnd(_, unhandledErrors) {
    if (unhandledErrors.length > 0) fail('an error outside of the tests')
  },
}

async function start(): Promise<(request: TestRequest) => Promise<TestRun>> {
  const vitest = await createVitest('test', { watch: false, reporters: [reporter], sequence: { sequencer: AsAsked } })
  await vitest.globTestSpecifications()
  const inCopy = (path: string): string => join(process.cwd(), path)
  return async ({ files, changed, bail }) => {
    run = { failed: false, by: '', files: {} }
    for (const path of changed) vitest.invalidateFile(inCopy(path))
    vitest.config.bail = bail ? 1 : 0
    await vitest.runTestSpecifications(files.flatMap((path) => vitest.getModuleSpecifications(inCopy(path))))
    return run
  }
}

const runTests = await start()
process.on('message', (request: TestRequest) => {
  runTests(request).then(
    (answer) => process.send?.(answer),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
// The parent's end is the end of this one.
process.on('disconnect', () => process.exit(0))
process.send?.('ready')

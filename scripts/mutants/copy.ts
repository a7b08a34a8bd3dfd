import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { listFiles, root } from '../repository.ts'
import { isUnitTest } from './choose.ts'

/** The part of vitest's JSON report that is read here. */
export interface Report {
  testResults: {
    name: string
    status: string
    assertionResults: { fullName: string; status: string; duration?: number | null }[]
  }[]
}

/** What a run of some test files came to. */
export interface Verdict {
  failed: boolean
  /** The name of the first test that failed, or why no test could be counted. */
  by: string
  report: Report | undefined
}

const open = new Set<Copy>()

/** A copy of the repository in which files may be changed. The repository itself never is. */
export class Copy {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'pannier-mutants-')))
  #running: ChildProcess | undefined

  constructor() {
    open.add(this)
    for (const path of listFiles()) {
      mkdirSync(dirname(join(this.folder, path)), { recursive: true })
      cpSync(join(root, path), join(this.folder, path))
    }
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'))
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.folder, path), text)
  }

  /** Runs test files until one test fails (or all, without `bail`). What takes longer than `limitMs` has failed. */
  async test(
    files: readonly string[],
    { limitMs, bail = true }: { limitMs: number; bail?: boolean },
  ): Promise<Verdict> {
    const file = join(this.folder, 'report.json')
    rmSync(file, { force: true })
    const args = ['run', ...files, '--reporter=json', `--outputFile.json=${file}`, ...(bail ? ['--bail=1'] : [])]
    const env = files.every(isUnitTest) ? { PANNIER_BUNDLES: 'none' } : {}
    const exitCode = await this.#run('vitest', args, limitMs, env)
    if (exitCode === undefined) return { failed: true, by: 'the time limit', report: undefined }
    return verdictOf(exitCode, readReport(file))
  }

  /** Whether the copy has no type errors. */
  async compiles(): Promise<boolean> {
    const args = ['--noEmit', '--incremental', '--tsBuildInfoFile', join(this.folder, 'types.tsbuildinfo')]
    return (await this.#run('tsc', args, 300_000)) === 0
  }

  /** The exit code, or undefined when the time was over. */
  #run(program: string, args: readonly string[], limitMs: number, more = {}): Promise<number | undefined> {
    const path = [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter)
    const env = { ...process.env, PATH: path, NO_COLOR: '1', ...more }
    // Its own process group, so that what it started ends with it.
    const child = spawn(program, args, { cwd: this.folder, env, stdio: 'ignore', detached: true })
    this.#running = child
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#stop()
        resolve(undefined)
      }, limitMs)
      child.once('error', reject)
      child.once('close', (code) => {
        clearTimeout(timer)
        this.#stop()
        resolve(code ?? 1)
      })
    })
  }

  #stop(): void {
    const pid = this.#running?.pid
    this.#running = undefined
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL')
    } catch {
      // Nothing of it runs any more.
    }
  }

  remove(): void {
    open.delete(this)
    this.#stop()
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Removes every copy, whatever runs there. */
export function removeCopies(): void {
  for (const copy of open) copy.remove()
}

function readReport(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report
  } catch {
    return undefined
  }
}

/** Vitest can fail without a failed test: a file that cannot be loaded, an unhandled rejection. */
function verdictOf(exitCode: number, report: Report | undefined): Verdict {
  if (exitCode === 0) return { failed: false, by: '', report }
  const files = report?.testResults ?? []
  const test = files.flatMap(({ assertionResults }) => assertionResults).find(({ status }) => status === 'failed')
  const file = files.find(({ status }) => status === 'failed')
  return { failed: true, by: test?.fullName ?? file?.name ?? 'an error outside of the tests', report }
}

import { type ChildProcess, fork } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { listFiles, root } from '../repository.ts'
import { isUnitTest } from './choose.ts'
import type { TestRequest, TestRun } from './testProcess.ts'
import { TypeCheck } from './typeCheck.ts'

const START_MS = 600_000

const open = new Set<Copy>()

/** A copy of the repository in which files may be changed. The repository itself never is. */
export class Copy {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'pannier-mutants-')))
  readonly #types = new TypeCheck(this.folder)
  readonly #changed = new Set<string>()
  #process: ChildProcess | undefined

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
    this.#changed.add(path)
  }

  /** Runs test files until one test fails (or all, without `bail`). What takes longer than `limitMs` has failed. */
  async test(
    files: readonly string[],
    { limitMs, bail = true }: { limitMs: number; bail?: boolean },
  ): Promise<TestRun> {
    this.#process ??= await this.#start()
    const run = await answerOf(this.#process, { files, changed: [...this.#changed], bail }, limitMs)
    this.#changed.clear()
    if (typeof run === 'string') {
      this.#stop()
      return { failed: true, by: run, files: {} }
    }
    // Tests that start processes may leave some behind when they fail.
    if (run.failed && !files.every(isUnitTest)) this.#stop()
    return run
  }

  /** Whether a file has no type errors. */
  compiles(path: string): boolean {
    return this.#types.passes(path)
  }

  async #start(): Promise<ChildProcess> {
    const path = [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter)
    // Bundling programs again for each change takes longer than running them from their sources.
    const env = { ...process.env, PATH: path, NO_COLOR: '1', PANNIER_BUNDLES: 'none' }
    const program = join(this.folder, 'scripts/mutants/testProcess.ts')
    // Its own process group, so that what it started ends with it.
    const child = fork(program, { cwd: this.folder, env, stdio: ['ignore', 'ignore', 'ignore', 'ipc'], detached: true })
    this.#process = child
    const gone = new AbortController()
    child.once('exit', () => gone.abort(new Error('The test process ended while it started.')))
    await once(child, 'message', { signal: AbortSignal.any([gone.signal, AbortSignal.timeout(START_MS)]) })
    return child
  }

  #stop(): void {
    const pid = this.#process?.pid
    this.#process = undefined
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL')
    } catch {
      // Nothing of it runs any more.
    }
  }

  remove(): void {
    open.delete(this)
    this.#stop()
    this.#types.close()
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Removes every copy, whatever runs there. */
export function removeCopies(): void {
  for (const copy of open) copy.remove()
}

/** What the process answers, or why it does not. */
function answerOf(child: ChildProcess, request: TestRequest, limitMs: number): Promise<TestRun | string> {
  return new Promise((resolve) => {
    const settle = (answer: unknown): void => {
      clearTimeout(timer)
      child.off('message', settle).off('exit', lost)
      resolve(answer as TestRun | string)
    }
    const lost = (): void => settle('the end of the test process')
    const timer = setTimeout(() => settle('the time limit'), limitMs)
    child.once('message', settle).once('exit', lost)
    child.send(request)
  })
}

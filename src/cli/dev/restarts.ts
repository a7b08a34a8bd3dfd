/**
 * The runs of one program, one after the other. The next run starts beside the one that serves, takes over when it listens,
 * and only then does the run before stop. So there is always one to answer, and a program that fails to start changes nothing.
 */
import type { DevRun, RunEnd } from './run.ts'

export interface DevRestartOptions {
  /** Starts the program; `before` is the address of the run that serves. */
  readonly start: (before: string | undefined) => Promise<DevRun>
  /** A run has taken over. */
  readonly onServing: (url: URL) => void
  /** A run has ended without a server. `isServed`: whether the run before still serves. */
  readonly onFailed: (end: RunEnd, isServed: boolean) => void
  /** The run that served has ended by itself. */
  readonly onCrash: () => void
}

/** Time for a process to end after SIGTERM when everything stops. */
const STOP_MS = 2000

export class Restarts {
  readonly #options: DevRestartOptions
  readonly #alive = new Set<DevRun>()
  #serving: DevRun | undefined
  /** The latest start; requests wait for it where no run serves. */
  #latest: Promise<void> = Promise.resolve()
  #starts = 0

  constructor(options: DevRestartOptions) {
    this.#options = options
  }

  /** The address of the run that serves, or of the one that is starting; undefined if it fails. */
  async target(): Promise<URL | undefined> {
    if (this.#serving === undefined) await this.#latest
    const { url } = this.#serving ?? {}
    return url === undefined ? undefined : new URL(url)
  }

  /** Starts the program. A start that is overtaken by a later one counts for nothing. */
  restart(): Promise<void> {
    const number = ++this.#starts
    this.#latest = this.#start(() => number === this.#starts)
    return this.#latest
  }

  /** Ends all runs. */
  async stop(): Promise<void> {
    this.#starts++
    this.#serving = undefined
    const runs = [...this.#alive]
    for (const run of runs) run.stop()
    const timer = setTimeout(() => runs.forEach((run) => run.kill()), STOP_MS)
    await Promise.all(runs.map(({ ended }) => ended))
    clearTimeout(timer)
  }

  async #start(isLatest: () => boolean): Promise<void> {
    const { start, onServing, onFailed } = this.#options
    const before = this.#serving
    const run = await start(before?.url)
    this.#keep(run)
    const outcome = await run.started
    if (!isLatest()) return run.kill()
    if ('url' in outcome) {
      this.#serving = run
      before?.stop()
      return onServing(new URL(outcome.url))
    }
    if (outcome.ended === 'portInUse' && before?.url !== undefined) {
      // The run before may hold the port: it ends first, then.
      this.#serving = undefined
      before.stop()
      await before.ended
      return this.#start(isLatest)
    }
    onFailed(outcome.ended, before?.url !== undefined)
  }

  #keep(run: DevRun): void {
    this.#alive.add(run)
    void run.ended.then(() => {
      this.#alive.delete(run)
      if (this.#serving !== run) return
      this.#serving = undefined
      this.#options.onCrash()
    })
  }
}

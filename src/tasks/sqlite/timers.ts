/**
 * The periodic jobs of an engine. Their timers do not keep the process alive.
 *
 * Writes of other processes are noticed by polling SQLite's `data_version`, the only thing that an idle engine does
 * often.
 */
import type { StatementSync } from 'node:sqlite'
import { withStoreErrors } from '../../state/stores/index.ts'
import type { FailureLog } from './failureLog.ts'
import type { SqliteTaskStore } from './store.ts'

const POLL_MS = 20
const RECLAIM_MS = 500
const SWEEP_MS = 1000

export interface TimerHandlers {
  /** Whether this engine has a worker or watchers; only then it polls for writes of other processes. */
  isActive(): boolean
  /** Another process has written. */
  onForeignWrite(): Promise<void>
  /** Ends the leases of tasks that have expired. */
  expire(): void
  reclaim(): Promise<void>
  beat(): Promise<void>
  sweep(): Promise<void>
}

export class EngineTimers {
  readonly #handlers: TimerHandlers
  readonly #log: FailureLog
  readonly #dataVersion: StatementSync
  readonly #timers: NodeJS.Timeout[] = []
  #poll: NodeJS.Timeout | undefined
  #seen: unknown
  #isStopped = false

  constructor({ database, settings }: SqliteTaskStore, calm: FailureLog, work: TimerHandlers) {
    this.#handlers = work
    this.#log = calm
    this.#dataVersion = withStoreErrors(() => database.prepare('PRAGMA data_version'))
    this.#seen = this.#version()
    this.#every(RECLAIM_MS, 'reclaim tasks of dead workers', () => work.reclaim())
    this.#every(settings.leaseMs / 3, 'send the heartbeat', () => work.beat())
    this.#every(SWEEP_MS, 'remove expired tasks', () => work.sweep())
  }

  /** Starts or stops polling; to be called whenever `isActive` may have changed. */
  adjust(): void {
    const isActive = this.#handlers.isActive()
    if (this.#isStopped || isActive === (this.#poll !== undefined)) return
    clearInterval(this.#poll)
    this.#poll = isActive ? setInterval(() => this.#pollNow(), POLL_MS).unref() : undefined
  }

  stop(): void {
    this.#isStopped = true
    for (const timer of this.#timers) clearInterval(timer)
    clearInterval(this.#poll)
  }

  #every(ms: number, work: string, run: () => Promise<void>): void {
    this.#timers.push(setInterval(() => void this.#log.tryAsync(work, run), ms).unref())
  }

  #pollNow(): void {
    this.#log.try('poll for writes of other processes', () => {
      this.#handlers.expire()
      const version = this.#version()
      if (version === this.#seen) return
      this.#seen = version
      void this.#log.tryAsync('process writes of other processes', () => this.#handlers.onForeignWrite())
    })
  }

  #version(): unknown {
    return withStoreErrors(() => this.#dataVersion.get())?.['data_version']
  }
}

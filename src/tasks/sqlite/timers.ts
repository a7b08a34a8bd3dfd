/**
 * What an engine does by itself, again and again. None of it keeps a process alive.
 *
 * Other processes are noticed by SQLite's own count of their commits; reading it is all that an idle engine does often.
 */
import type { StatementSync } from 'node:sqlite'
import { withStoreErrors } from '../../state/stores/index.ts'
import type { FailureLog } from './failureLog.ts'
import type { SqliteTaskStore } from './store.ts'

const POLL_MS = 20
const RECLAIM_MS = 500
const SWEEP_MS = 1000

export interface TimerHandlers {
  /** Somebody works or watches: only then it matters what others do. */
  isActive(): boolean
  /** Another process has written. */
  onForeignWrite(): Promise<void>
  /** Something may be over that was not a moment ago. */
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
    this.#every(RECLAIM_MS, 'look after other workers', () => work.reclaim())
    this.#every(settings.leaseMs / 3, 'show that this worker lives', () => work.beat())
    this.#every(SWEEP_MS, 'remove expired tasks', () => work.sweep())
  }

  /** To be called whenever it may be needed, or not any more. */
  adjust(): void {
    const isNeeded = this.#handlers.isActive()
    if (this.#isStopped || isNeeded === (this.#poll !== undefined)) return
    clearInterval(this.#poll)
    this.#poll = isNeeded ? setInterval(() => this.#pollNow(), POLL_MS).unref() : undefined
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
    this.#log.try('notice other processes', () => {
      this.#handlers.expire()
      const version = this.#version()
      if (version === this.#seen) return
      this.#seen = version
      void this.#log.tryAsync('follow other processes', () => this.#handlers.onForeignWrite())
    })
  }

  #version(): unknown {
    return withStoreErrors(() => this.#dataVersion.get())?.['data_version']
  }
}

/**
 * What an engine does by itself, again and again. None of it keeps a process alive.
 *
 * Other processes are noticed by SQLite's own count of their commits; reading it is all that an idle engine does often.
 */
import type { StatementSync } from 'node:sqlite'
import { withStoreErrors } from '../../state/stores/index.ts'
import type { Calm } from './failureLog.ts'
import type { Store } from './store.ts'

const LOOK_MS = 20
const BURY_MS = 500
const SWEEP_MS = 1000

export interface PulseWork {
  /** Somebody works or watches: only then it matters what others do. */
  isNeeded(): boolean
  /** Another process has written. */
  onForeignWrite(): Promise<void>
  /** Something may be over that was not a moment ago. */
  onTime(): void
  bury(): Promise<void>
  beat(): Promise<void>
  sweep(): Promise<void>
}

export class Pulse {
  readonly #work: PulseWork
  readonly #calm: Calm
  readonly #dataVersion: StatementSync
  readonly #timers: NodeJS.Timeout[] = []
  #look: NodeJS.Timeout | undefined
  #seen: unknown
  #isStopped = false

  constructor({ database, settings }: Store, calm: Calm, work: PulseWork) {
    this.#work = work
    this.#calm = calm
    this.#dataVersion = withStoreErrors(() => database.prepare('PRAGMA data_version'))
    this.#seen = this.#version()
    this.#every(BURY_MS, 'look after other workers', () => work.bury())
    this.#every(settings.leaseMs / 3, 'show that this worker lives', () => work.beat())
    this.#every(SWEEP_MS, 'remove expired tasks', () => work.sweep())
  }

  /** To be called whenever it may be needed, or not any more. */
  adjust(): void {
    const isNeeded = this.#work.isNeeded()
    if (this.#isStopped || isNeeded === (this.#look !== undefined)) return
    clearInterval(this.#look)
    this.#look = isNeeded ? setInterval(() => this.#lookNow(), LOOK_MS).unref() : undefined
  }

  stop(): void {
    this.#isStopped = true
    for (const timer of this.#timers) clearInterval(timer)
    clearInterval(this.#look)
  }

  #every(ms: number, work: string, run: () => Promise<void>): void {
    this.#timers.push(setInterval(() => void this.#calm.tryLater(work, run), ms).unref())
  }

  #lookNow(): void {
    this.#calm.try('notice other processes', () => {
      this.#work.onTime()
      const version = this.#version()
      if (version === this.#seen) return
      this.#seen = version
      void this.#calm.tryLater('follow other processes', () => this.#work.onForeignWrite())
    })
  }

  #version(): unknown {
    return withStoreErrors(() => this.#dataVersion.get())?.['data_version']
  }
}

/**
 * Writes to a SQLite file that another process may have locked.
 *
 * - A write is tried at once. While the file is locked it is tried again after pauses, in which the event loop is free.
 * - The writes of one file are made in the order in which they were asked for.
 * - A write that finds the file locked for `LOCK_WAIT_MS` fails with STORE_UNAVAILABLE and has changed nothing.
 */
import type { DatabaseSync } from 'node:sqlite'
import { backoffMs } from '../../protocol/index.ts'
import { isLocked, LOCK_WAIT_MS, withoutWaiting, withStoreErrors } from './sqliteFile.ts'

const PAUSES = { firstMs: 1, maxMs: 50 }

/** How long to wait before a locked file is tried for the next time. */
export function lockPauseMs(failedTries: number): number {
  return backoffMs(failedTries, PAUSES)
}

interface WaitingWrite {
  readonly run: () => unknown
  readonly giveUpAt: number
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

export class SqliteWrites {
  readonly #database: DatabaseSync
  readonly #lockWaitMs: number
  readonly #waiting: WaitingWrite[] = []
  #failedTries = 0

  constructor(database: DatabaseSync, lockWaitMs = LOCK_WAIT_MS) {
    this.#database = database
    this.#lockWaitMs = lockWaitMs
  }

  /** Runs a write: a transaction, or a single statement. Gives a promise only if it has to wait. */
  run<Result>(write: () => Result): Result | Promise<Result> {
    if (this.#waiting.length > 0) return this.#wait(write)
    try {
      return withStoreErrors(write)
    } catch (error) {
      if (!isLocked(error)) throw error
      return this.#wait(write)
    }
  }

  #wait<Result>(run: () => Result): Promise<Result> {
    const giveUpAt = performance.now() + this.#lockWaitMs
    return new Promise((resolve, reject) => {
      this.#waiting.push({ run, giveUpAt, resolve, reject })
      if (this.#waiting.length === 1) this.#pause()
    })
  }

  #pause(): void {
    setTimeout(() => this.#tryFirst(), lockPauseMs(++this.#failedTries))
  }

  #tryFirst(): void {
    const [first] = this.#waiting
    if (first === undefined) return
    try {
      const value = withStoreErrors(() => withoutWaiting(this.#database, first.run))
      first.resolve(value as never)
    } catch (error) {
      if (isLocked(error) && performance.now() < first.giveUpAt) return this.#pause()
      first.reject(error)
    }
    this.#waiting.shift()
    this.#failedTries = 0
    if (this.#waiting.length > 0) setImmediate(() => this.#tryFirst())
  }
}

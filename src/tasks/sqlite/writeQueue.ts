/**
 * Group commit: the writes of one process share transactions, because waiting for the disk takes the same time for one
 * write as for a hundred.
 *
 * - Writes that are queued in the same turn of the event loop, or by a running write, are committed together.
 * - A promise resolves when its write is on the disk.
 * - A write may refuse by throwing a TaskError before it has changed anything. Any other error rolls the transaction
 *   back, and its writes are repeated one by one, so that one failing write does not affect the others.
 * - A write is synchronous, and so is a transaction: nothing else runs between its statements.
 * - While another process has locked the file, the queue retries after pauses, in which the event loop is free. A write
 *   that has waited for `LOCK_WAIT_MS` fails.
 */
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { StateError } from '../../state/internal.ts'
import {
  inTransaction,
  isLocked,
  LOCK_WAIT_MS,
  lockPauseMs,
  withoutWaiting,
  withStoreErrors,
} from '../../state/stores/index.ts'
import { TaskError } from '../errors.ts'

// With more writes in a transaction the first would wait too long for the last.
const MAX_WRITES = 200

interface QueuedWrite {
  readonly run: () => unknown
  readonly settle: (outcome: WriteOutcome) => void
  readonly giveUpAt: number
  /** Whether it runs alone, after a shared transaction has failed. */
  isAlone: boolean
}

type WriteOutcome = { readonly value: unknown } | { readonly error: Error }
type SettledWrite = readonly [QueuedWrite, WriteOutcome]

export class WriteQueue {
  readonly #database: DatabaseSync
  readonly #lockWaitMs: number
  readonly #waiting: QueuedWrite[] = []
  #transactionCount = 0
  /** The number of consecutive attempts that found the file locked. */
  #lockedTries = 0
  #isScheduled = false
  #isClosed = false

  constructor(database: DatabaseSync, lockWaitMs = LOCK_WAIT_MS) {
    this.#database = database
    this.#lockWaitMs = lockWaitMs
  }

  /** The number of transactions begun so far, which identifies the current one. */
  get transactionCount(): number {
    return this.#transactionCount
  }

  /** Whether the last write found the file locked by another process. */
  get isLocked(): boolean {
    return this.#lockedTries > 0
  }

  /** Runs a function in a write transaction, possibly with others and possibly twice. */
  write<T>(run: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new StateError('STORE_UNAVAILABLE', 'The task store was closed.')
      const settle = (outcome: WriteOutcome): void => {
        if ('value' in outcome) resolve(outcome.value as T)
        else reject(outcome.error)
      }
      this.#waiting.push({ run, settle, giveUpAt: performance.now() + this.#lockWaitMs, isAlone: false })
      this.#schedule()
    })
  }

  /** Commits the queued writes, at once if the file is not locked, and refuses new ones. */
  async close(): Promise<void> {
    while (this.#waiting.length > 0) {
      this.#commit()
      if (this.isLocked) await sleep(this.#pauseMs)
    }
    this.#isClosed = true
  }

  get #pauseMs(): number {
    return lockPauseMs(this.#lockedTries)
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    if (this.isLocked) setTimeout(() => this.#turn(), this.#pauseMs)
    else setImmediate(() => this.#turn())
  }

  #turn(): void {
    if (this.#waiting.length > 0) this.#commit()
    this.#isScheduled = false
    if (this.#waiting.length > 0) this.#schedule()
  }

  #commit(): void {
    for (const [write, outcome] of this.#commitTogether()) write.settle(outcome)
  }

  /** Commits the first writes of the queue, and returns the settled ones. */
  #commitTogether(): SettledWrite[] {
    const done: SettledWrite[] = []
    const begun: QueuedWrite[] = []
    try {
      this.#transaction(() => {
        for (let write = this.#next(begun); write !== undefined; write = this.#next(begun)) {
          done.push([write, runWrite(write.run)])
        }
      })
      return done
    } catch (error) {
      if (this.isLocked) {
        this.#waiting.unshift(...begun)
        return this.#overdue(error)
      }
      if (begun.length > 1) return this.#queueAlone(begun)
      // If no transaction could begin, the other writes would fail as well.
      const failed = begun.length === 1 ? begun : this.#waiting.splice(0)
      return failed.map((write) => [write, failedWrite(error)])
    }
  }

  #next(begun: QueuedWrite[]): QueuedWrite | undefined {
    const [next] = this.#waiting
    if (next === undefined || begun.length >= MAX_WRITES) return undefined
    if (begun.length > 0 && (next.isAlone || begun[0]?.isAlone)) return undefined
    this.#waiting.shift()
    begun.push(next)
    return next
  }

  #queueAlone(writes: readonly QueuedWrite[]): SettledWrite[] {
    for (const write of writes) write.isAlone = true
    this.#waiting.unshift(...writes)
    return []
  }

  /** Fails and returns the writes that have waited too long for the lock. */
  #overdue(error: unknown): SettledWrite[] {
    const now = performance.now()
    const first = this.#waiting.findIndex(({ giveUpAt }) => giveUpAt > now)
    const overdue = this.#waiting.splice(0, first === -1 ? this.#waiting.length : first)
    return overdue.map((write) => [write, failedWrite(error)])
  }

  #transaction(run: () => void): void {
    this.#transactionCount++
    const transaction = () => withStoreErrors(() => inTransaction(this.#database, run))
    try {
      // Only the first try may wait a little for the lock, because that blocks the event loop.
      if (this.isLocked) withoutWaiting(this.#database, transaction)
      else transaction()
      this.#lockedTries = 0
    } catch (error) {
      this.#lockedTries = isLocked(error) ? this.#lockedTries + 1 : 0
      throw error
    }
  }
}

function runWrite(run: () => unknown): WriteOutcome {
  try {
    return { value: run() }
  } catch (error) {
    if (error instanceof TaskError) return { error }
    throw error
  }
}

function failedWrite(error: unknown): WriteOutcome {
  return { error: error instanceof Error ? error : new Error('A write to the task store failed.', { cause: error }) }
}

/**
 * Group commit: the writes of one process share transactions, because waiting for the disk costs the same for one write
 * as for a hundred.
 *
 * - Writes that are queued in the same turn of the event loop, or by a running write, are committed together.
 * - A promise resolves when its write is on the disk.
 * - A write may refuse by throwing a TaskError before it has changed anything. Any other error rolls the transaction back,
 *   and its writes are repeated one by one, so that one failing write does not affect the others.
 */
import type { DatabaseSync } from 'node:sqlite'
import { StateError } from '../../state/internal.ts'
import { inTransaction, withStoreErrors } from '../../state/stores/index.ts'
import { TaskError } from '../errors.ts'

// With more writes per transaction the first would wait too long for the last.
const MAX_WRITES = 200

interface QueuedWrite {
  readonly run: () => unknown
  readonly settle: (outcome: WriteOutcome) => void
}

type WriteOutcome = { readonly value: unknown } | { readonly error: Error }

export class WriteQueue {
  readonly #database: DatabaseSync
  readonly #onCommit: () => void
  readonly #waiting: QueuedWrite[] = []
  #transactionCount = 0
  #isScheduled = false
  #isClosed = false

  constructor(database: DatabaseSync, onCommit: () => void) {
    this.#database = database
    this.#onCommit = onCommit
  }

  /** The number of transactions begun so far, which identifies the current one. */
  get transactionCount(): number {
    return this.#transactionCount
  }

  /** Runs a function in a write transaction, possibly with others. It may run twice. */
  write<T>(run: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new StateError('STORE_UNAVAILABLE', 'The task store was closed.')
      const settle = (outcome: WriteOutcome): void => {
        if ('value' in outcome) resolve(outcome.value as T)
        else reject(outcome.error)
      }
      this.#waiting.push({ run, settle })
      this.#schedule()
    })
  }

  /** Commits the queued writes at once and refuses new ones. */
  close(): void {
    while (this.#waiting.length > 0) this.#commit()
    this.#isClosed = true
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      if (this.#waiting.length > 0) this.#commit()
      this.#isScheduled = false
      if (this.#waiting.length > 0) this.#schedule()
    })
  }

  #commit(): void {
    const settled = this.#commitTogether()
    this.#onCommit()
    for (const [write, outcome] of settled) write.settle(outcome)
  }

  #commitTogether(): (readonly [QueuedWrite, WriteOutcome])[] {
    const done: [QueuedWrite, WriteOutcome][] = []
    const begun: QueuedWrite[] = []
    try {
      this.#transaction(() => {
        for (let write = this.#next(begun); write !== undefined; write = this.#next(begun)) {
          done.push([write, runWrite(write.run)])
        }
      })
      return done
    } catch (error) {
      if (begun.length > 1) return begun.map((write) => [write, this.#commitAlone(write)])
      // If no transaction could begin, the other writes would fail as well, each after waiting for the lock.
      const failed = begun.length === 1 ? begun : this.#waiting.splice(0)
      return failed.map((write) => [write, failedWrite(error)])
    }
  }

  #next(begun: QueuedWrite[]): QueuedWrite | undefined {
    if (begun.length >= MAX_WRITES) return undefined
    const write = this.#waiting.shift()
    if (write !== undefined) begun.push(write)
    return write
  }

  #commitAlone({ run }: QueuedWrite): WriteOutcome {
    try {
      return this.#transaction(() => runWrite(run))
    } catch (error) {
      return failedWrite(error)
    }
  }

  #transaction<Result>(run: () => Result): Result {
    this.#transactionCount++
    return withStoreErrors(() => inTransaction(this.#database, run))
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

/**
 * Retries of tasks whose process dies.
 *
 * - A task that loses its process is run again at once, beside the others that were lost with it: most processes that
 *   die were killed, and their tasks are innocent.
 * - A task that has lost two processes in a row without progress is a suspect: it may have crashed them. It is run
 *   again after a pause. A worker runs one suspect at a time and claims nothing else until the suspect makes progress
 *   (a new step, a question), ends, or has run for a while. Pause and time double with each process.
 * - A loss is charged to the suspect that its worker ran alone, or to the only task of that worker. Other tasks are not
 *   charged.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '../protocol/index.ts'
import { isLeaseLost } from './errors.ts'

/** The default of `maxLosses`. */
export const MAX_LOSSES = 20

const RETRY_WRITE_MS = 1000

export function isSuspect(attempts: number): boolean {
  return attempts > 1
}

/** The pause before the next run of a task that has lost this number of processes in a row. */
export function retryMs(attempts: number): number {
  return isSuspect(attempts) ? backoffMs(attempts - 1, { firstMs: 250, maxMs: 30_000 }) : 0
}

/** Time during which a worker claims nothing beside a suspect that has lost this number of processes in a row. */
export function aloneMs(attempts: number): number {
  return backoffMs(attempts - 1, { firstMs: 500, maxMs: 60_000 })
}

/** The slot of the suspect beside which a worker claims nothing. */
export class SuspectSlot {
  readonly #onFree: () => void
  #current: object | undefined
  #isOthersTurn = false

  /** `onFree` is called when the worker may claim tasks again. */
  constructor(onFree: () => void) {
    this.#onFree = onFree
  }

  get isTaken(): boolean {
    return this.#current !== undefined
  }

  /** Whether other tasks come before suspects this time: once after each suspect. */
  takeTurn(): boolean {
    const isOthersTurn = this.#isOthersTurn
    this.#isOthersTurn = false
    return isOthersTurn
  }

  /** Takes the slot for a lease. `record` stores that the suspect has run for long enough, before the slot is freed. */
  take(lease: object, attempts: number, record: () => Promise<void>): void {
    this.#current = lease
    setTimeout(() => void this.#freeOnce(lease, record), aloneMs(attempts)).unref()
  }

  /** Frees the slot: the suspect has made progress, or its lease is over. */
  free(lease: object): void {
    if (this.#current !== lease) return
    this.#current = undefined
    this.#isOthersTurn = true
    this.#onFree()
  }

  async #freeOnce(lease: object, record: () => Promise<void>): Promise<void> {
    while (this.#current === lease) {
      try {
        await record()
        this.free(lease)
      } catch (error) {
        if (isLeaseLost(error)) this.free(lease)
        else await sleep(RETRY_WRITE_MS, undefined, { ref: false })
      }
    }
  }
}

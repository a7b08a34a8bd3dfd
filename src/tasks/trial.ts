/**
 * Tasks that have lost their process come back as suspects: one of them may have crashed it.
 *
 * - A worker runs one suspect at a time, on trial: it waits until its other runs have ended, though not for longer than
 *   the trial lasts, and claims nothing else until the trial is over.
 * - A trial is over when the task makes progress (a new step, a question), when its run has ended, or after a time that
 *   doubles with each process that the task has lost in a row. So a task that crashes late is on trial long enough at last.
 * - When a process dies, only the task on trial is charged with a loss, or the only task that it ran. Several tasks
 *   without one on trial are not charged.
 * - After a trial the worker claims other tasks first, for as long as the trial has taken.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs, unref } from '../protocol/index.ts'
import { isLeaseLost } from './errors.ts'

const POLL_MS = 20
const RETRY_WRITE_MS = 1000
/** The longest pause before a task is run again. */
export const MAX_RETRY_MS = 30_000

/** How long a task is on trial that has lost so many processes in a row. */
export function trialMs(crashes: number): number {
  return backoffMs(crashes, { firstMs: 500, maxMs: 60_000 })
}

/** The pause before a task is run again that has lost so many processes in a row. The first time there is none. */
export function retryMs(crashes: number): number {
  return crashes <= 1 ? 0 : backoffMs(crashes - 1, { firstMs: 250, maxMs: MAX_RETRY_MS })
}

/** The lease of a suspect. */
export interface SuspectLease {
  readonly signal: AbortSignal
  /** Records that the task is on trial from now on, or no longer. Rejects when the lease is lost. */
  setOnTrial(isOnTrial: boolean): Promise<void>
}

export interface TrialOptions {
  readonly lease: SuspectLease
  /** How many processes the task has lost in a row. */
  readonly crashes: number
  /** Whether the worker runs nothing else. */
  readonly isAlone: () => boolean
  /** Whether the worker has stopped. */
  readonly isStopped: () => boolean
  readonly run: () => Promise<void>
}

/** The place for one suspect in a worker. */
export class TrialSlot {
  readonly #onFree: () => void
  #current: object | undefined
  #takenAt = 0
  #pausedUntil = 0

  /** `onFree` is called when the worker may claim tasks again. */
  constructor(onFree: () => void) {
    this.#onFree = onFree
  }

  /** While this is true, the worker claims nothing. */
  get isTaken(): boolean {
    return this.#current !== undefined
  }

  /** For how long other tasks come before suspects, in milliseconds. */
  get pauseMs(): number {
    return Math.max(0, this.#pausedUntil - performance.now())
  }

  /** Runs a suspect; the slot is taken at once. Gives false if it was not run: the worker stopped, or a write failed. */
  async try({ lease, crashes, isAlone, isStopped, run }: TrialOptions): Promise<boolean> {
    this.#current = lease
    this.#takenAt = performance.now()
    let timer: NodeJS.Timeout | undefined
    try {
      await waitFor(() => isAlone() || isStopped() || lease.signal.aborted, trialMs(crashes))
      if (isStopped() || !(await hasWritten(lease, true))) return false
      timer = unref(setTimeout(() => void this.#acquit(lease), trialMs(crashes)))
      await run()
      return true
    } finally {
      clearTimeout(timer)
      this.free(lease)
    }
  }

  /** The trial of this lease is over. */
  free(lease: SuspectLease): void {
    if (this.#current !== lease) return
    this.#current = undefined
    const now = performance.now()
    this.#pausedUntil = now + (now - this.#takenAt)
    this.#onFree()
  }

  /** The task has run for long enough. While this cannot be recorded, the task stays on trial. */
  async #acquit(lease: SuspectLease): Promise<void> {
    while (this.#current === lease) {
      if (await hasWritten(lease, false)) return this.free(lease)
      await sleep(RETRY_WRITE_MS, undefined, { ref: false })
    }
  }
}

/** A lease that is over needs no more writes to end its trial. */
async function hasWritten(lease: SuspectLease, isOnTrial: boolean): Promise<boolean> {
  try {
    await lease.setOnTrial(isOnTrial)
    return true
  } catch (error) {
    return !isOnTrial && isLeaseLost(error)
  }
}

async function waitFor(isSo: () => boolean, maxMs: number): Promise<void> {
  for (const end = performance.now() + maxMs; !isSo() && performance.now() < end; ) {
    await sleep(POLL_MS, undefined, { ref: false })
  }
}

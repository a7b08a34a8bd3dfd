/** Restarts a worker whose process has ended: at once, or with backoff if its processes keep ending soon. */
import { sleep } from '../../protocol/index.ts'
import type { WorkerSlot } from './slot.ts'

export interface WorkerRestartsOptions {
  /** Starts a process, and lets it serve clients. */
  readonly serve: (slot: WorkerSlot) => Promise<void>
  readonly onNews: (sentence: string) => void
  /** Aborts when the gateway is stopped. */
  readonly signal: AbortSignal
}

const FIRST_MS = 100
const LONGEST_MS = 30_000
/** A process that has lived this long did not end because of its start. */
const STEADY_MS = 60_000

/** `before`: the pause before the process that has ended; 0 for the first one. `livedMs`: its lifetime. */
export function restartPauseMs(before: number, livedMs: number): number {
  if (before === 0 || livedMs >= STEADY_MS) return FIRST_MS
  return Math.min(2 * before, LONGEST_MS)
}

export class WorkerRestarts {
  readonly #options: WorkerRestartsOptions
  readonly #pauses = new Map<WorkerSlot, number>()

  constructor(options: WorkerRestartsOptions) {
    this.#options = options
  }

  /** The process of a worker has ended. */
  async replace(slot: WorkerSlot): Promise<void> {
    const { serve, onNews, signal } = this.#options
    const pauseMs = restartPauseMs(this.#pauses.get(slot) ?? 0, performance.now() - slot.startedAt)
    this.#pauses.set(slot, pauseMs)
    await sleep(pauseMs, signal).catch(() => {})
    if (signal.aborted) return
    try {
      await serve(slot)
    } catch (error) {
      if (signal.aborted) return
      onNews(`Worker ${slot.worker} did not start: ${error instanceof Error ? error.message : ''}`)
      slot.kill() // and the next one is started when it has ended
    }
  }
}

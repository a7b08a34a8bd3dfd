/**
 * Runs the handler of each task that was leased to this process.
 *
 * - Each step is committed before the handler continues, and the outcome of the run before its lease ends.
 * - A run whose lease is lost continues without effect: the engine refuses its writes.
 * - While the process drains, runs end at their next checkpoint. Tasks that have not stopped by the deadline become
 *   ready again, and another run continues from the last committed step.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs, CODES, unref } from '../../protocol/index.ts'
import type { RunOutcome, TaskCaller, TaskHost } from '../../server/index.ts'
import type { Lease, NewQuestion, TaskProgress } from '../engine.ts'
import { isInvalidEntry } from '../entry.ts'
import { isLeaseLost, leaseLost } from '../errors.ts'
import { StateError } from '../../state/internal.ts'

export class TaskRunner {
  readonly #host: TaskHost
  /** The running leases, with the controller that aborts each run. */
  readonly #running = new Map<Lease, AbortController>()
  #draining = false

  constructor(host: TaskHost) {
    this.#host = host
  }

  /** Runs a task until its lease has ended. Never rejects. */
  readonly run = async (lease: Lease): Promise<void> => {
    if (lease.isOver()) return
    const stop = stopController(lease)
    this.#running.set(lease, stop)
    try {
      await this.#runHandler(lease, stop.signal)
    } catch (error) {
      if (!isLeaseLost(error))
        this.#log('error', lease, error, 'The outcome of a task could not be stored; the task is run again.')
    } finally {
      this.#running.delete(lease)
    }
  }

  /** Ends runs at their next checkpoint from now on. */
  drain(): void {
    this.#draining = true
  }

  /** Aborts the remaining runs and makes their tasks ready again. */
  async giveBackAll(): Promise<void> {
    const left = [...this.#running]
    for (const [, stop] of left) stop.abort()
    await Promise.allSettled(left.map(([lease]) => lease.giveBack()))
  }

  async #runHandler(lease: Lease, signal: AbortSignal): Promise<void> {
    const { id, tool, args, journal } = lease
    const remembered = journal.own
    const status = new StatusThrottle(({ message, ...progress }) => lease.note(message, progress))
    const retried = <T>(write: () => Promise<T>): Promise<T> =>
      retryWrite(write, signal, (error) =>
        this.#log('warn', lease, error, 'The task store is unavailable; a run waits for it.'),
      )
    const outcome = await this.#host.run({
      id,
      tool,
      args,
      journal,
      signal,
      isOver: () => lease.isOver() || signal.aborted,
      // `callerOf` in service.ts created the caller; the engine stores it unchanged.
      caller: lease.caller as unknown as TaskCaller,
      commit: (key, result) => retried(() => lease.step(key, result)),
      claim: (use) => retried(() => lease.claim(use)),
      unclaim: (use) => retried(() => lease.unclaim(use)),
      progress: status.progress,
      draining: () => this.#draining,
    })
    // The status message stays visible while the task waits for input; an ended task has its own.
    await status.end(outcome.kind === 'asked' ? 'written' : 'dropped')
    await retried(() => settle(lease, outcome, remembered)).catch((error: unknown) => {
      // Another run would have the same result.
      if (!isInvalidEntry(error)) throw error
      this.#log('error', lease, error, 'The outcome of a task cannot be stored; the task fails.')
      const failure = { code: CODES.INTERNAL_ERROR, message: error.message }
      return retried(() => lease.end({ status: 'failed', failure }))
    })
  }

  #log(level: 'warn' | 'error', { id, tool }: Lease, error: unknown, sentence: string): void {
    const err = error instanceof Error ? { name: error.name, message: error.message } : {}
    this.#host.logger()[level]({ task: id, tool, err }, sentence)
  }
}

/**
 * Aborts when the lease is lost or the process ends. `AbortSignal.any` would do the same, but Node never frees such a
 * signal once it has a listener, and handlers add one.
 */
function stopController({ signal }: Lease): AbortController {
  const stop = new AbortController()
  if (signal.aborted) stop.abort(signal.reason)
  else signal.addEventListener('abort', () => stop.abort(signal.reason), { once: true })
  return stop
}

async function settle(lease: Lease, outcome: RunOutcome, remembered: unknown): Promise<void> {
  switch (outcome.kind) {
    case 'completed':
      return lease.end({ status: 'completed', result: outcome.result })
    case 'failed': {
      const { code, message, data } = outcome.error
      return lease.end({ status: 'failed', failure: { code, message, ...(data !== undefined && { data }) } })
    }
    case 'asked':
      return lease.ask(questionsOf(lease, outcome.requests), lease.journal.own)
    case 'handed-over':
      return lease.journal.own === remembered ? lease.giveBack() : lease.ask([], lease.journal.own)
    default:
      return outcome satisfies never
  }
}

function questionsOf({ journal }: Lease, requests: Extract<RunOutcome, { kind: 'asked' }>['requests']): NewQuestion[] {
  return Array.from(requests, ([key, request]) => {
    const { question, times, approvers } = journal.open.get(key) ?? { question: undefined, times: 1 }
    return { key, request, question, times, approvers }
  })
}

/** The progress that a handler reports, as it is stored. */
interface ReportProgress extends TaskProgress {
  readonly message: string
}

/** Throttles the status messages of a run: the latest message is written, at most one per interval. */
export class StatusThrottle {
  readonly #write: (report: ReportProgress) => Promise<void>
  readonly #everyMs: number
  #latest: ReportProgress | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #writing: Promise<void> | undefined
  /** Whether a message is being written, or was written within the last interval. */
  #isPausing = false
  #hasEnded = false

  constructor(write: (report: ReportProgress) => Promise<void>, everyMs = 200) {
    this.#write = write
    this.#everyMs = everyMs
  }

  progress = (progress: number, total: number | undefined, message: string | undefined): void => {
    const text = message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)
    this.#latest = { message: text, progress, ...(total !== undefined && { total }) }
    if (!this.#isPausing) this.#flush()
  }

  /** Stops writing. The latest message is still written if it is to stay visible. */
  async end(latestMessage: 'written' | 'dropped' = 'dropped'): Promise<void> {
    const latest = this.#latest
    this.#hasEnded = true
    clearTimeout(this.#timer)
    await this.#writing
    if (latestMessage === 'written' && latest !== undefined) await this.#write(latest).catch(() => {})
  }

  #flush(): void {
    const latest = this.#latest
    this.#latest = undefined
    this.#isPausing = latest !== undefined && !this.#hasEnded
    if (latest !== undefined && this.#isPausing) this.#writing = this.#writeAndPause(latest)
  }

  /** One write at a time: with a slow store, an older message must not overwrite a newer one. */
  async #writeAndPause(latest: ReportProgress): Promise<void> {
    // A failed write does not stop the run; the next step shows whether the lease is still valid.
    await this.#write(latest).catch(() => {})
    if (this.#hasEnded) return
    this.#timer = unref(setTimeout(() => this.#flush(), this.#everyMs))
  }
}

const BACKOFF = { firstMs: 25, maxMs: 2000 }

/**
 * Retries a write of a run while the store is unavailable, until it succeeds or the lease is lost. Calls
 * `onUnavailable` once, with the first error.
 */
export async function retryWrite<T>(
  write: () => Promise<T>,
  signal: AbortSignal,
  onUnavailable?: (error: StateError) => void,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    if (signal.aborted) throw leaseLost('taken')
    try {
      return await write()
    } catch (error) {
      if (!isTransient(error)) throw error
      if (attempt === 1) onUnavailable?.(error)
    }
    await sleep(backoffMs(attempt, BACKOFF), undefined, { signal }).catch(() => {})
  }
}

function isTransient(error: unknown): error is StateError {
  return error instanceof StateError && (error.code === 'STORE_UNAVAILABLE' || error.code === 'STORE_FULL')
}

/**
 * Turns leases into runs of handlers.
 *
 * - What a run did is committed before anything depends on it, and how it stopped before its lease ends.
 * - A run whose lease is lost is nobody's business any more: what it still does is refused by the engine.
 * - When the process is about to end, runs hand over at their next checkpoint, step boundaries included in what another
 *   run will find; what has not stopped by the deadline is given back as it is.
 */
import type { Stretch, TaskCaller, TaskHost } from '../../server/index.ts'
import type { Lease, NewQuestion } from '../engine.ts'
import { isInvalidEntry } from '../entry.ts'
import { isLeaseLost } from '../errors.ts'
import { retryWrite } from './writeRetry.ts'

export class TaskRunner {
  readonly #host: TaskHost
  /** What is under way, and how each run is told to stop. */
  readonly #underWay = new Map<Lease, AbortController>()
  #draining = false

  constructor(host: TaskHost) {
    this.#host = host
  }

  /** Runs a task until its lease has ended. Never rejects. */
  readonly run = async (lease: Lease): Promise<void> => {
    const stop = stopController(lease)
    this.#underWay.set(lease, stop)
    try {
      await this.#play(lease, stop.signal)
    } catch (error) {
      if (!isLeaseLost(error)) this.#log('error', lease, error, 'A task could not be settled; it is run again.')
    } finally {
      this.#underWay.delete(lease)
    }
  }

  /** From here on checkpoints hand over. */
  drain(): void {
    this.#draining = true
  }

  /** Stops waiting for what is still under way: handlers are told, and their tasks are anybody's. */
  async giveBackAll(): Promise<void> {
    const left = [...this.#underWay]
    for (const [, stop] of left) stop.abort()
    await Promise.allSettled(left.map(([lease]) => lease.giveBack()))
  }

  async #play(lease: Lease, signal: AbortSignal): Promise<void> {
    const { id, tool, args, journal } = lease
    const remembered = journal.own
    const notes = new StatusThrottle((message) => lease.note(message))
    const persisted = <T>(write: () => Promise<T>): Promise<T> =>
      retryWrite(write, signal, (error) => this.#log('warn', lease, error, 'A task waits for its store.'))
    const stretch = await this.#host.play({
      id,
      tool,
      args,
      journal,
      signal,
      // The caller was written by `callerOf`; the engine kept it as it was.
      caller: lease.caller as unknown as TaskCaller,
      commit: (key, result) => persisted(() => lease.step(key, result)),
      claim: (use) => persisted(() => lease.claim(use)),
      unclaim: (use) => persisted(() => lease.unclaim(use)),
      progress: notes.progress,
      draining: () => this.#draining,
    })
    // While a task waits for people, they see it; the end of one has words of its own.
    await notes.end(stretch.kind === 'asked' ? 'written' : 'dropped')
    await persisted(() => settle(lease, stretch, remembered)).catch((error: unknown) => {
      // Run again, it would come to the same.
      if (!isInvalidEntry(error)) throw error
      this.#log('error', lease, error, 'What a tool gave cannot be kept.')
      const failure = { code: -32603, message: error.message }
      return persisted(() => lease.end({ status: 'failed', failure }))
    })
  }

  #log(level: 'warn' | 'error', { id, tool }: Lease, error: unknown, sentence: string): void {
    const err = error instanceof Error ? { name: error.name, message: error.message } : {}
    this.#host.logger()[level]({ task: id, tool, err }, sentence)
  }
}

/**
 * Aborted with the lease, or by whoever ends the process. Not by `AbortSignal.any`: Node keeps what that gives for ever
 * once somebody listens, and handlers do.
 */
function stopController({ signal }: Lease): AbortController {
  const stop = new AbortController()
  if (signal.aborted) stop.abort(signal.reason)
  else signal.addEventListener('abort', () => stop.abort(signal.reason), { once: true })
  return stop
}

async function settle(lease: Lease, stretch: Stretch, remembered: unknown): Promise<void> {
  switch (stretch.kind) {
    case 'completed':
      return lease.end({ status: 'completed', result: stretch.result })
    case 'failed': {
      const { code, message, data } = stretch.error
      return lease.end({ status: 'failed', failure: { code, message, ...(data !== undefined && { data }) } })
    }
    case 'asked':
      return lease.ask(questionsOf(lease, stretch.requests), lease.journal.own)
    case 'handed-over':
      return lease.journal.own === remembered ? lease.giveBack() : lease.ask([], lease.journal.own)
    default:
      return stretch satisfies never
  }
}

function questionsOf({ journal }: Lease, requests: Extract<Stretch, { kind: 'asked' }>['requests']): NewQuestion[] {
  return Array.from(requests, ([key, request]) => {
    const { question, times } = journal.open.get(key) ?? { question: undefined, times: 1 }
    return { key, request, question, times }
  })
}

/** What a handler says of its progress, told to the store now and then: the last word counts, not each one. */
export class StatusThrottle {
  readonly #write: (statusMessage: string) => Promise<void>
  readonly #everyMs: number
  #latest: string | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #writing: Promise<void> | undefined
  /** Something is being written, or was a moment ago. */
  #isPausing = false
  #hasEnded = false

  constructor(write: (statusMessage: string) => Promise<void>, everyMs = 200) {
    this.#write = write
    this.#everyMs = everyMs
  }

  progress = (progress: number, total: number | undefined, message: string | undefined): void => {
    this.#latest = message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)
    if (!this.#isPausing) this.#flush()
  }

  /** Nothing is written after this, except the last word where people will see it for long. */
  async end(lastWord: 'written' | 'dropped' = 'dropped'): Promise<void> {
    const latest = this.#latest
    this.#hasEnded = true
    clearTimeout(this.#timer)
    await this.#writing
    if (lastWord === 'written' && latest !== undefined) await this.#write(latest).catch(() => {})
  }

  #flush(): void {
    const latest = this.#latest
    this.#latest = undefined
    this.#isPausing = latest !== undefined && !this.#hasEnded
    if (latest !== undefined && this.#isPausing) this.#writing = this.#writeAndPause(latest)
  }

  /** One at a time: where the store is slow, an older word must not come after a newer one. */
  async #writeAndPause(latest: string): Promise<void> {
    // A note that cannot be written is no reason to stop the work; whether the lease holds shows with the next step.
    await this.#write(latest).catch(() => {})
    if (this.#hasEnded) return
    this.#timer = setTimeout(() => this.#flush(), this.#everyMs)
    this.#timer.unref()
  }
}

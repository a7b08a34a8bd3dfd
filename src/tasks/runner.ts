/**
 * Turns leases into runs of handlers.
 *
 * - What a run did is committed before anything depends on it, and how it stopped before its lease ends.
 * - A run whose lease is lost is nobody's business any more: what it still does is refused by the engine.
 * - When the process is about to end, runs hand over at their next checkpoint, step boundaries included in what another
 *   run will find; what has not stopped by the deadline is given back as it is.
 */
import type { Logger, Stretch, TaskCaller, TaskHost } from '../server/index.ts'
import type { Lease, NewQuestion } from './engine.ts'
import { isLeaseLost, TaskError } from './errors.ts'
import { persist } from './persistence.ts'
import { StatusNotes } from './statusNotes.ts'

export class Runner {
  readonly #host: TaskHost
  readonly #underWay = new Set<Lease>()
  readonly #ending = new AbortController()
  #draining = false

  constructor(host: TaskHost) {
    this.#host = host
  }

  /** Runs a task until its lease has ended. Never rejects. */
  readonly run = async (lease: Lease): Promise<void> => {
    this.#underWay.add(lease)
    try {
      await this.#play(lease)
    } catch (error) {
      if (!isLeaseLost(error)) this.#report(lease, error)
    } finally {
      this.#underWay.delete(lease)
    }
  }

  /** From here on checkpoints hand over. */
  drain(): void {
    this.#draining = true
  }

  /** Stops waiting for what is still under way: handlers are told, and their tasks are anybody's. */
  async giveUp(): Promise<void> {
    this.#ending.abort()
    const left = [...this.#underWay]
    await Promise.allSettled(left.map((lease) => lease.giveBack()))
  }

  async #play(lease: Lease): Promise<void> {
    const { id, tool, args, journal } = lease
    const signal = AbortSignal.any([lease.signal, this.#ending.signal])
    const remembered = journal.own
    const notes = new StatusNotes((message) => lease.note(message))
    const stretch = await this.#host.play({
      id,
      tool,
      args,
      journal,
      signal,
      // The caller was written by `callerOf`; the engine kept it as it was.
      caller: lease.caller as unknown as TaskCaller,
      commit: (key, result) => persist(() => lease.step(key, result), signal),
      claim: (use) => persist(() => lease.claim(use), signal),
      unclaim: (use) => persist(() => lease.unclaim(use), signal),
      progress: notes.progress,
      draining: () => this.#draining,
    })
    await notes.end()
    await persist(() => settle(lease, stretch, remembered), signal).catch((error: unknown) => {
      if (!isTooLarge(error)) throw error
      const failure = { code: -32603, message: error.message }
      return persist(() => lease.end({ status: 'failed', failure }), signal)
    })
  }

  #report({ id, tool }: Lease, error: unknown): void {
    const err = error instanceof Error ? { name: error.name, message: error.message } : {}
    this.#logger.error({ task: id, tool, err }, 'A task could not be settled; it is run again.')
  }

  get #logger(): Logger {
    return this.#host.logger()
  }
}

function isTooLarge(error: unknown): error is TaskError {
  return error instanceof TaskError && error.code === 'TASK_ENTRY_TOO_LARGE'
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

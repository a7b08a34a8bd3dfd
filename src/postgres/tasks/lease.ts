/**
 * A lease in the process that holds it.
 *
 * It is lost when the database says so, and also when the last renewal is too old, by the clock of this process: another
 * worker may soon claim the task. A lost lease stays lost. A timer notices that, and `isOver` does so earlier if the timer
 * is late, as after a freeze. Calls that end the lease run one after the other, and the first one takes effect.
 */
import { randomUUID } from 'node:crypto'
import type { Journal } from '../../journal/index.ts'
import { type Json, MAX_TIMER_MS } from '../../protocol/index.ts'
import {
  type Lease,
  leaseLost,
  type LossReason,
  type NewQuestion,
  readObject,
  type TaskEnd,
  type TaskProgress,
} from '../../tasks/internal.ts'
import { type LeasedTask, journalOfTask } from './claim.ts'
import type { LeaseTimes } from '../leaseTimes.ts'
import type { LeaseWrites } from './leaseWrites.ts'

/** The writes, times and callbacks of a lease. */
export interface PostgresLeaseHost {
  readonly writes: LeaseWrites
  readonly times: LeaseTimes
  /** When the claim was sent, by `performance.now()`. */
  readonly requestedAt: number
  /** The owner can see a change. */
  onChange(): void
  /** Any worker can claim the task. */
  onReady(): void
  /** The task is no longer suspected of crashing its process. */
  onProgress(lease: PostgresLease): void
}

export class PostgresLease implements Lease {
  readonly id: string
  readonly tool: string
  readonly args: Json
  readonly caller: Json
  readonly journal: Journal
  readonly #host: PostgresLeaseHost
  readonly #abort = new AbortController()
  readonly #attempts = new Map<string, string>()
  #loss: LossReason | undefined
  #ending: Promise<void> = Promise.resolve()
  #renewal: NodeJS.Timeout | undefined
  #deadline: NodeJS.Timeout | undefined
  /** When the run is aborted unless the lease is renewed, by `performance.now()`. */
  #deadlineAt = 0
  #expiry: NodeJS.Timeout | undefined

  constructor(row: LeasedTask, host: PostgresLeaseHost) {
    this.id = row.id
    this.tool = row.tool
    this.args = readObject(row.args)
    this.caller = readObject(row.caller)
    this.journal = journalOfTask(row)
    this.#host = host
    // The database itself checks a TTL that is too long for a timer.
    if (row.left_ms !== null && row.left_ms < MAX_TIMER_MS) {
      this.#expiry = setTimeout(() => this.lose('expired'), row.left_ms).unref()
    }
    this.#confirm(host.requestedAt)
    this.#renewAfter(host.times.renewMs)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  isOver(): boolean {
    if (performance.now() >= this.#deadlineAt) this.lose('taken')
    return this.#loss !== undefined
  }

  async step(key: string, result: { readonly value?: unknown }): Promise<void> {
    const { writes } = this.#host
    const hadLosses = writes.hasLosses
    await this.#write(() => writes.step(key, result))
    if (hadLosses && !writes.hasLosses) this.#host.onProgress(this)
  }

  async claim(key: string): Promise<'fresh' | 'running'> {
    const attempt = this.#attempts.get(key) ?? randomUUID()
    this.#attempts.set(key, attempt)
    const claimed = await this.#write(() => this.#host.writes.claim(key, attempt))
    this.#attempts.delete(key)
    return claimed
  }

  async unclaim(key: string): Promise<void> {
    await this.#write(() => this.#host.writes.unclaim(key))
  }

  async note(statusMessage: string, progress?: TaskProgress): Promise<void> {
    await this.#write(() => this.#host.writes.note(statusMessage, progress))
    this.#host.onChange()
  }

  async ask(questions: readonly NewQuestion[], own: unknown): Promise<void> {
    await this.#end(() => this.#host.writes.ask(questions, own))
    if (questions.length > 0) this.#host.onChange()
    else this.#host.onReady()
  }

  async end(end: TaskEnd): Promise<void> {
    await this.#end(() => this.#host.writes.end(end))
    this.#host.onChange()
  }

  async giveBack(): Promise<void> {
    await this.#end(() => this.#host.writes.giveBack())
    this.#host.onReady()
  }

  async setOnTrial(isOnTrial: boolean): Promise<void> {
    await this.#write(() => this.#host.writes.setOnTrial(isOnTrial))
  }

  /** If this fails, the task may be charged with the crash of another. */
  async markShared(): Promise<void> {
    await this.#host.writes.markShared().catch(() => {})
  }

  /** Asks the database whether the lease is still held. If it cannot be reached, nothing changes. */
  async check(): Promise<void> {
    const loss = await this.#host.writes.lossReason().catch(() => undefined)
    await this.#ending
    if (loss !== undefined) this.lose(loss)
  }

  /** Aborts the run and returns the task to the queue. */
  async release(): Promise<void> {
    await this.#ending
    if (this.#loss !== undefined) return
    this.lose('closed')
    // If this fails, the lease expires by itself.
    const isGiven = await this.#host.writes.giveBack().catch(() => false)
    if (isGiven) this.#host.onReady()
  }

  /** The run has returned. A lease that it has not ended expires by itself. */
  abandon(): void {
    if (this.#loss === undefined) this.#close('ended')
  }

  lose(reason: LossReason): void {
    if (this.#loss !== undefined) return
    this.#close(reason)
    this.#abort.abort(leaseLost(reason))
  }

  #close(reason: LossReason): void {
    this.#loss = reason
    for (const timer of [this.#renewal, this.#deadline, this.#expiry]) clearTimeout(timer)
  }

  /** The signal is not aborted: the caller itself ends the lease. */
  #end(write: () => Promise<boolean>): Promise<void> {
    const ended = this.#ending.then(async () => {
      await this.#write(write)
      this.#close('ended')
    })
    this.#ending = ended.catch(() => {})
    return ended
  }

  async #write<Outcome>(write: () => Promise<Outcome | false>): Promise<Outcome> {
    if (this.#loss !== undefined) throw leaseLost(this.#loss)
    const outcome = await write()
    if (outcome !== false) return outcome
    this.lose((await this.#host.writes.lossReason().catch(() => undefined)) ?? 'taken')
    throw leaseLost(this.#loss ?? 'taken')
  }

  /** The response of an earlier renewal may come after that of a later one. */
  #confirm(requestedAt: number): void {
    this.#deadlineAt = Math.max(this.#deadlineAt, requestedAt + this.#host.times.runMs)
    clearTimeout(this.#deadline)
    // The time may already be over if the process was frozen.
    const leftMs = Math.max(0, this.#deadlineAt - performance.now())
    this.#deadline = setTimeout(() => this.lose('taken'), leftMs).unref()
  }

  #renewAfter(ms: number): void {
    clearTimeout(this.#renewal)
    if (this.#loss === undefined) this.#renewal = setTimeout(() => void this.#renew(), ms).unref()
  }

  /** While the database is unavailable, this is repeated until the deadline, also when there is no response. */
  async #renew(): Promise<void> {
    const { holdMs, renewMs, retryMs, attemptMs } = this.#host.times
    const requestedAt = performance.now()
    this.#renewAfter(attemptMs)
    const isHeld = await this.#host.writes.renew(holdMs, attemptMs).catch(() => undefined)
    if (isHeld === false) await this.check()
    if (this.#loss !== undefined) return
    if (isHeld) this.#confirm(requestedAt)
    this.#renewAfter(isHeld ? renewMs : retryMs)
  }
}

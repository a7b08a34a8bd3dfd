/**
 * A lease in the process that holds it.
 *
 * It is lost when the database says so, and also when the last renewal is too old by the clock of this process, because
 * another worker may soon claim the task. A lost lease stays lost. A timer detects that, and so does `isOver` if the
 * timer is late, as after a freeze. Calls that end the lease run one after the other, and the first one takes effect.
 */
import { randomUUID } from 'node:crypto'
import type { Journal } from '../../journal/index.ts'
import { type Json, MAX_TIMER_MS } from '../../protocol/index.ts'
import type { Lease, NewQuestion, TaskEnd, TaskProgress } from '../engine.ts'
import { leaseLost, type LossReason } from '../errors.ts'
import type { LeaseTimes } from '../leaseTimes.ts'
import type { ClaimedTask } from './claim.ts'
import type { LeaseWrites } from './leaseWrites.ts'
import type { TaskStore } from './store.ts'

/** The writes, times and callbacks of a lease. */
export interface LeaseHost {
  readonly writes: LeaseWrites
  readonly times: LeaseTimes
  /** Time at which the claim was sent, by `elapsedMs`. */
  readonly requestedAt: number
  elapsedMs(): number
  /** Whether no process can write, so that the lease stays valid although it cannot be renewed. */
  isLocked(): boolean
  /** Called when the owner can see a change. */
  onChange(): void
  /** Called when the task has made progress, or its lease is over. */
  onProgress(lease: SqlLease): void
}

export class SqlLease implements Lease {
  readonly id: string
  readonly tool: string
  readonly args: Json
  readonly caller: Json
  readonly journal: Journal
  readonly task: number
  readonly generation: number
  readonly #host: LeaseHost
  readonly #abort = new AbortController()
  readonly #attempts = new Map<string, string>()
  #loss: LossReason | undefined
  #ending: Promise<void> = Promise.resolve()
  #deadline: NodeJS.Timeout | undefined
  /** Time at which the run is aborted unless the lease is renewed. */
  #deadlineAt = 0
  #expiry: NodeJS.Timeout | undefined

  constructor(claimed: ClaimedTask, host: LeaseHost) {
    this.id = claimed.id
    this.tool = claimed.tool
    this.args = claimed.args
    this.caller = claimed.caller
    this.journal = claimed.journal
    this.task = claimed.task
    this.generation = claimed.generation
    this.#host = host
    // The database itself checks a TTL that is too long for a timer.
    if (claimed.leftMs !== null && claimed.leftMs < MAX_TIMER_MS) {
      this.#expiry = setTimeout(() => this.lose('expired'), claimed.leftMs).unref()
    }
    this.confirm(host.requestedAt)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Whether this object knows that the lease is over. */
  get isEnded(): boolean {
    return this.#loss !== undefined
  }

  isOver(): boolean {
    if (!this.isEnded && this.#host.elapsedMs() >= this.#deadlineAt && !this.#host.isLocked()) this.lose('taken')
    return this.isEnded
  }

  async step(key: string, result: { readonly value?: unknown }): Promise<void> {
    const { writes, onProgress } = this.#host
    const hadLosses = writes.hasLosses
    await this.#write(() => writes.step(key, result))
    if (hadLosses && !writes.hasLosses) onProgress(this)
  }

  async claim(key: string): Promise<'fresh' | 'running'> {
    const attempt = this.#attempts.get(key) ?? randomUUID()
    this.#attempts.set(key, attempt)
    const claimed = await this.#write(() => this.#host.writes.claim(key, attempt))
    this.#attempts.delete(key)
    return claimed === 'fresh' ? 'fresh' : 'running'
  }

  async unclaim(key: string): Promise<void> {
    await this.#write(() => this.#host.writes.unclaim(key))
  }

  async note(statusMessage: string, progress?: TaskProgress): Promise<void> {
    if (await this.#write(() => this.#host.writes.note(statusMessage, progress))) this.#host.onChange()
  }

  ask(questions: readonly NewQuestion[], own: unknown): Promise<void> {
    return this.#end(() => this.#host.writes.ask(questions, own))
  }

  async end(end: TaskEnd): Promise<void> {
    await this.#end(() => this.#host.writes.end(end))
    this.#host.onChange()
  }

  giveBack(): Promise<void> {
    return this.#end(() => this.#host.writes.giveBack())
  }

  /** Releases a lease that its run has not ended. */
  abandon(): Promise<void> {
    return this.#end(() => this.#host.writes.abandon())
  }

  /** Asks the database whether the lease is still valid. Nothing changes if the database cannot be reached. */
  async check(): Promise<void> {
    const loss = await this.#host.writes.lossReason().catch(() => undefined)
    await this.#ending
    if (loss !== undefined) this.lose(loss)
  }

  /** Aborts the run and makes the task ready for others. */
  async release(): Promise<void> {
    await this.#ending
    if (this.isEnded) return
    this.lose('closed')
    // If this fails, the lease expires by itself.
    await this.#host.writes.giveBack().catch(() => false)
  }

  lose(reason: LossReason): void {
    if (this.isEnded) return
    this.#close(reason)
    this.#abort.abort(leaseLost(reason))
  }

  /** Extends the lease. The response of an earlier renewal may come after that of a later one. */
  confirm(requestedAt: number): void {
    if (this.isEnded) return
    this.#deadlineAt = Math.max(this.#deadlineAt, requestedAt + this.#host.times.runMs)
    this.#setDeadline(this.#deadlineAt - this.#host.elapsedMs())
  }

  /** Sets the timer. The time may already be over if the process was frozen. */
  #setDeadline(leftMs: number): void {
    clearTimeout(this.#deadline)
    const check = (): void => {
      if (!this.isOver())
        this.#setDeadline(Math.max(this.#host.times.retryMs, this.#deadlineAt - this.#host.elapsedMs()))
    }
    this.#deadline = setTimeout(check, Math.max(0, leftMs)).unref()
  }

  #close(reason: LossReason): void {
    this.#loss = reason
    clearTimeout(this.#deadline)
    clearTimeout(this.#expiry)
    this.#host.onProgress(this)
  }

  /** Ends the lease without aborting the signal, because the run itself ends it. */
  #end(write: () => Promise<boolean>): Promise<void> {
    const ended = this.#ending.then(async () => {
      await this.#write(write)
      this.#close('ended')
    })
    this.#ending = ended.catch(() => {})
    return ended
  }

  /** Runs a write. If it wrote nothing, the lease may be lost. */
  async #write<Outcome>(write: () => Promise<Outcome>): Promise<Outcome> {
    if (this.#loss !== undefined) throw leaseLost(this.#loss)
    const outcome = await write()
    if (outcome !== false) return outcome
    const { writes } = this.#host
    const loss = await writes.lossReason().catch((): LossReason => 'taken')
    if (loss === undefined) return outcome
    this.lose(loss)
    throw leaseLost(this.#loss ?? loss)
  }
}

export interface RenewalOptions {
  readonly worker: string
  readonly times: LeaseTimes
  readonly leases: ReadonlySet<SqlLease>
}

/** Renews all leases of one worker by one statement. */
export class Renewal {
  readonly #store: TaskStore
  readonly #options: RenewalOptions
  #timer: NodeJS.Timeout | undefined

  constructor(store: TaskStore, options: RenewalOptions) {
    this.#store = store
    this.#options = options
  }

  /** Starts the renewals, when the worker has leases. */
  start(): void {
    if (this.#timer === undefined) this.#renewAfter(this.#options.times.renewMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #renewAfter(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#renew(), ms).unref()
  }

  /** Renews the leases, with retries while the database fails or does not answer. */
  async #renew(): Promise<void> {
    const { renewMs, retryMs, attemptMs } = this.#options.times
    const leases = [...this.#options.leases].filter(({ isEnded }) => !isEnded)
    if (leases.length === 0) return this.stop()
    const requestedAt = this.#store.driver.elapsedMs()
    this.#renewAfter(attemptMs)
    const attempt = this.#timer
    const held = await this.#write().catch(() => undefined)
    for (const lease of held === undefined ? [] : leases) {
      if (held?.get(lease.task) === lease.generation) lease.confirm(requestedAt)
      else void lease.check()
    }
    // Not if a later attempt has begun, or the worker has stopped.
    if (this.#timer === attempt) this.#renewAfter(held === undefined ? retryMs : renewMs)
  }

  /** Renews the leases; returns the generations of the tasks that this worker holds. */
  async #write(): Promise<Map<number, number>> {
    const { driver, sql } = this.#store
    const { worker, times } = this.#options
    const rows = await driver.changeReturning<{ number: string | number; generation: string | number }>(
      `UPDATE ${sql.tasks} SET leased_until = ${sql.now} + CAST($2 AS bigint) WHERE worker = $1
       RETURNING number, generation`,
      [worker, Math.round(times.holdMs)],
      times.attemptMs,
    )
    return new Map(rows.map(({ number, generation }) => [Number(number), Number(generation)]))
  }
}

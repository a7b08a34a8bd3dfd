/**
 * The right to run a task, as one process sees it.
 *
 * It is lost when the database says so, and also when this process has not heard from the database for as long as the
 * lease lasts: others may have taken the task by then. What is lost stays lost. Its ends come one after the other, so of
 * several the first takes.
 */
import { randomUUID } from 'node:crypto'
import type { Journal } from '../../journal/index.ts'
import type { Json } from '../../protocol/index.ts'
import {
  type Lease,
  leaseLost,
  type LossReason,
  type NewQuestion,
  readObject,
  type TaskEnd,
} from '../../tasks/internal.ts'
import { type LeasedTask, journalOfTask } from './claim.ts'
import type { LeaseWrites } from './leaseWrites.ts'

/** What a lease needs to know, and whom it tells. */
export interface PostgresLeaseHost {
  readonly writes: LeaseWrites
  /** How long the lease lasts from each renewal, and how often it is renewed. */
  readonly holdMs: number
  readonly renewMs: number
  /** When it was asked for, by `performance.now()`. */
  readonly askedAt: number
  /** The owner can see a change. */
  onChange(): void
  /** Anybody can take the task. */
  onReady(): void
}

// setTimeout takes no more. The database watches over what lives longer.
const LONGEST_TIMER_MS = 2_147_483_647

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
  #expiry: NodeJS.Timeout | undefined

  constructor(row: LeasedTask, host: PostgresLeaseHost) {
    this.id = row.id
    this.tool = row.tool
    this.args = readObject(row.args)
    this.caller = readObject(row.caller)
    this.journal = journalOfTask(row)
    this.#host = host
    if (row.left_ms !== null && row.left_ms < LONGEST_TIMER_MS) {
      this.#expiry = setTimeout(() => this.lose('expired'), row.left_ms).unref()
    }
    this.#confirm(host.askedAt)
    this.#renewLater()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  async step(key: string, result: { readonly value?: unknown }): Promise<void> {
    await this.#write(() => this.#host.writes.step(key, result))
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

  async note(statusMessage: string): Promise<void> {
    await this.#write(() => this.#host.writes.note(statusMessage))
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

  /** Looks whether the lease is still held, if that can be seen now. */
  async check(): Promise<void> {
    const loss = await this.#host.writes.lossReason().catch(() => undefined)
    await this.#ending
    if (loss !== undefined) this.lose(loss)
  }

  /** Lets others have the task; whatever still runs is told so. */
  async release(): Promise<void> {
    await this.#ending
    if (this.#loss !== undefined) return
    this.lose('closed')
    // Where that fails, the lease lapses by itself.
    const isGiven = await this.#host.writes.giveBack().catch(() => false)
    if (isGiven) this.#host.onReady()
  }

  /** Nobody runs this any more; a lease that has not ended lapses. */
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

  /** Whoever ends a lease knows that it is over; its signal is for those who do not. */
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

  #confirm(askedAt: number): void {
    clearTimeout(this.#deadline)
    // A process that was frozen meanwhile has less than nothing left.
    const leftMs = Math.max(0, askedAt + this.#host.holdMs - performance.now())
    this.#deadline = setTimeout(() => this.lose('taken'), leftMs).unref()
  }

  #renewLater(): void {
    this.#renewal = setTimeout(() => void this.#renew(), this.#host.renewMs).unref()
  }

  /** While the database is away this goes on until the deadline. */
  async #renew(): Promise<void> {
    const askedAt = performance.now()
    const isHeld = await this.#host.writes.renew(this.#host.holdMs).catch(() => undefined)
    if (isHeld === false) await this.check()
    if (this.#loss !== undefined) return
    if (isHeld) this.#confirm(askedAt)
    this.#renewLater()
  }
}

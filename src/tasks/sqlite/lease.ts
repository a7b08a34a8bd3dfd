/** A lease on rows of the file. Each write checks in its own transaction that the lease is still held. */
import type { Journal } from '../../journal/index.ts'
import type { Json } from '../../protocol/index.ts'
import { entryText, objectText } from '../entry.ts'
import type { Lease, NewQuestion, TaskEnd, TaskProgress } from '../engine.ts'
import { type LossReason, LOST_TOO_OFTEN, leaseLost } from '../errors.ts'
import type { SqliteLeaseKey } from './rows/leases.ts'
import type { Tables } from './rows/tables.ts'
import type { PreparedEnd } from './rows/transitions.ts'

/** What a run needs of its task. */
export interface LeaseContent {
  readonly key: SqliteLeaseKey
  readonly id: string
  readonly tool: string
  readonly args: Json
  readonly caller: Json
  readonly journal: Journal
  /** Whether the task has lost workers since its last progress. */
  readonly hasLosses: boolean
  /** How many processes the task has lost in a row; with any it is run on trial. */
  readonly crashes: number
  readonly expiresAt: number | null
}

export interface SqliteLeaseEvents {
  /** Called inside the transaction that makes the task ready for a worker again. */
  onReady(): void
  /** The task is no longer suspected of crashing its process. */
  onProgress(lease: SqliteLease): void
  /** Whether the worker still has its leases; if not, they are lost when this returns. */
  isAlive(): boolean
}

export class SqliteLease implements Lease {
  readonly id: string
  readonly tool: string
  readonly args: Json
  readonly caller: Json
  readonly journal: Journal
  readonly key: SqliteLeaseKey
  readonly expiresAt: number | null
  readonly #hasLosses: boolean
  readonly #tables: Tables
  readonly #events: SqliteLeaseEvents
  readonly #abort = new AbortController()
  #loss: LossReason | undefined

  constructor(content: LeaseContent, tables: Tables, events: SqliteLeaseEvents) {
    this.id = content.id
    this.tool = content.tool
    this.args = content.args
    this.caller = content.caller
    this.journal = content.journal
    this.key = content.key
    this.expiresAt = content.expiresAt
    this.#hasLosses = content.hasLosses
    this.#tables = tables
    this.#events = events
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  isOver(): boolean {
    if (this.#loss === undefined && !this.#events.isAlive()) this.lose('taken')
    return this.#loss !== undefined
  }

  /** Whether it is known to this object that the lease is over. */
  get isEnded(): boolean {
    return this.#loss !== undefined
  }

  /** Marks the lease as lost and aborts its run. */
  lose(reason: LossReason): void {
    if (this.#loss !== undefined) return
    this.#loss = reason
    this.#abort.abort(leaseLost(reason))
  }

  async step(key: string, result: { readonly value?: unknown }): Promise<void> {
    const { steps } = this.#tables
    const value = steps.textOf(key, result)
    const isNew = await this.#write((task) => {
      const isNew = steps.add(task, key, value)
      if (isNew) this.#progress(task)
      return isNew
    })
    if (isNew && this.#hasLosses) this.#events.onProgress(this)
  }

  async claim(key: string): Promise<'fresh' | 'running'> {
    return this.#write((task) => this.#tables.steps.claim(task, key))
  }

  async unclaim(key: string): Promise<void> {
    await this.#write((task) => this.#tables.steps.unclaim(task, key))
  }

  async note(statusMessage: string, progress?: TaskProgress): Promise<void> {
    this.#text('A status message', statusMessage)
    await this.#write((task) => this.#tables.transitions.note(task, statusMessage, progress))
  }

  async ask(questions: readonly NewQuestion[], own: unknown): Promise<void> {
    const { calls, leases, transitions } = this.#tables
    const prepared = this.#tables.questions.prepare(questions)
    const state = own === undefined ? null : this.#text('The state of a handler', own)
    await this.#lastWrite((task) => {
      this.#tables.questions.ask(task, prepared)
      calls.setState(task, state)
      leases.countRound(task)
      this.#progress(task)
      leases.release(task)
      if (prepared.length === 0) this.#events.onReady()
      else transitions.setStatus(task, 'input_required')
    })
  }

  async end(end: TaskEnd): Promise<void> {
    const prepared = this.#prepareEnd(end)
    await this.#lastWrite((task) => this.#tables.transitions.end(task, prepared))
  }

  async giveBack(): Promise<void> {
    await this.#lastWrite((task) => {
      this.#tables.leases.release(task)
      this.#events.onReady()
    })
  }

  async setOnTrial(isOnTrial: boolean): Promise<void> {
    await this.#write((task) => this.#tables.leases.setOnTrial(task, isOnTrial))
  }

  /** Releases a lease whose run returned without ending it. This counts as the loss of a worker. */
  async abandon(): Promise<void> {
    const { leases, transitions } = this.#tables
    await this.#lastWrite((task) => {
      if (leases.isExhausted(task)) return transitions.fail(task, LOST_TOO_OFTEN)
      leases.releaseAbandoned(task)
      this.#events.onReady()
    })
  }

  #progress(task: number): void {
    if (this.#hasLosses) this.#tables.leases.resetLosses(task)
  }

  #prepareEnd(end: TaskEnd): PreparedEnd {
    const { status, statusMessage } = end
    const { maxEntryBytes } = this.#tables.store.settings
    if (statusMessage !== undefined) this.#text('A status message', statusMessage)
    const [what, value] = status === 'completed' ? ['The result', end.result] : ['The failure', end.failure]
    const outcome = objectText(what, value, maxEntryBytes)
    return { status, statusMessage, outcome }
  }

  async #lastWrite(run: (task: number) => void): Promise<void> {
    await this.#write(run)
    this.#loss ??= 'ended'
  }

  #write<T>(run: (task: number) => T): Promise<T> {
    if (this.#loss !== undefined) return Promise.reject(leaseLost(this.#loss))
    const { leases, store } = this.#tables
    return store.writes.write(() => {
      if (!leases.isHeld(this.key)) throw leaseLost(this.#loss ?? this.whyLost())
      return run(this.key.task)
    })
  }

  /** Why a lease is no longer held. */
  whyLost(): LossReason {
    const status = this.#tables.leases.statusOf(this.key.task)
    if (status === undefined) return 'expired'
    if (status === 'working') return 'taken'
    return status === 'cancelled' ? 'cancelled' : 'ended'
  }

  #text(what: string, value: unknown): string {
    return entryText(what, value, this.#tables.store.settings.maxEntryBytes)
  }
}

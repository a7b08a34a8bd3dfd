/**
 * A worker: it claims tasks of its tools while slots are free, and runs them.
 *
 * It claims on an event, when a run has ended, and periodically, because no event announces the end of a pause. A run
 * may return without having ended its lease; the lease is then released after a pause, so that a task that fails at
 * once is not run again at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isSuspect, SuspectSlot } from '../attempts.ts'
import type { Working, WorkOptions } from '../engine.ts'
import { isLeaseLost } from '../errors.ts'
import { type LeaseTimes, leaseTimes } from '../leaseTimes.ts'
import { type ClaimedTask, type ClaimOptions, claimReady, claimSuspect } from './claim.ts'
import type { TaskEvent, Transaction } from './driver.ts'
import type { FailureLog } from './failureLog.ts'
import { Renewal, SqlLease } from './lease.ts'
import { LeaseWrites } from './leaseWrites.ts'
import { ReadyTasks, readyTools } from './ready.ts'
import { keyOf, type TaskStore } from './store.ts'

const PAUSE_MS = 1000
/** Pause before a claim is repeated that found only tasks that others are claiming. */
const BUSY_MS = 50
/** Minimum interval at which claims look for suspects. */
const SUSPECTS_EVERY_MS = 100

export interface WorkerHost {
  readonly log: FailureLog
  emit(event: TaskEvent): void
}

type ClaimOrder = 'suspects first' | 'others first' | 'others'

interface ClaimOutcome {
  readonly claimed: readonly ClaimedTask[]
  /** Tools for which more tasks may be ready. */
  readonly more: readonly string[]
  /** Whether others were claiming the ready tasks. */
  readonly isBusy: boolean
}

export class Worker implements Working {
  readonly #store: TaskStore
  readonly #options: WorkOptions
  readonly #host: WorkerHost
  readonly #times: LeaseTimes
  readonly #claims: ClaimOptions
  readonly #renewal: Renewal
  /** The keys of its tools, and of the tools that may have ready tasks. */
  readonly #tools: Set<string>
  readonly #due = new Set<string>()
  readonly #leases = new Set<SqlLease>()
  readonly #runs = new Set<Promise<void>>()
  readonly #suspects = new SuspectSlot(() => this.poll())
  #claiming: Promise<void> | undefined
  #isPolling = false
  #pollsAgain = false
  #retry: NodeJS.Timeout | undefined
  /** Slots reserved for tasks that this worker will claim. */
  #reserved = 0
  #suspectsAt = Number.NEGATIVE_INFINITY
  #isStopped = false

  constructor(store: TaskStore, options: WorkOptions, host: WorkerHost) {
    this.#store = store
    this.#options = options
    this.#host = host
    this.#times = leaseTimes(store.settings.leaseMs)
    const worker = store.driver.newWorkerId()
    this.#claims = { worker, holdMs: this.#times.holdMs, ready: new ReadyTasks(store) }
    this.#renewal = new Renewal(store, { worker, times: this.#times, leases: this.#leases })
    this.#tools = new Set(options.tools.map((tool) => keyOf(store, tool)))
  }

  serve(tool: string): void {
    this.#tools.add(keyOf(this.#store, tool))
    this.poll()
  }

  async stop(): Promise<void> {
    await this.#stopClaiming()
    await Promise.all(this.#runs)
  }

  /** Stops, aborts every run and makes the tasks ready for others. */
  async close(): Promise<void> {
    await this.#stopClaiming()
    this.#renewal.stop()
    await Promise.all(Array.from(this.#leases, (lease) => lease.release()))
  }

  /** Reserves a slot for a ready task of this tool. If there is one, no other process has to be notified. */
  reserveSlot(tool: string): boolean {
    if (!this.#tools.has(tool) || this.#reserved >= this.#freeSlots) return false
    this.#reserved++
    return true
  }

  onEvent(event: TaskEvent): void {
    if (event.kind === 'cancelled') this.check()
    if (!('tool' in event) || !this.#tools.has(event.tool)) return
    this.#due.add(event.tool)
    this.#claimDue()
  }

  /** Aborts the runs that have lost their leases. */
  check(): void {
    if (this.#leases.size > 0) void this.#checkLeases().catch(() => {})
  }

  /** Claims tasks if any are ready; checking that takes no lock. */
  poll(): void {
    if (this.#isStopped) return
    this.#pollsAgain = true
    if (this.#freeSlots > 0 && !this.#isPolling) void this.#pollAll()
  }

  async #pollAll(): Promise<void> {
    this.#isPolling = true
    while (this.#pollsAgain && this.#freeSlots > 0) {
      this.#pollsAgain = false
      await this.#host.log.try('check for ready tasks', async () => {
        for (const tool of await readyTools(this.#store, [...this.#tools])) this.#due.add(tool)
        this.#suspectsAt = Number.NEGATIVE_INFINITY
      })
      this.#claimDue()
    }
    this.#isPolling = false
  }

  async #checkLeases(): Promise<void> {
    const { driver, sql } = this.#store
    const leases = [...this.#leases]
    const rows = await driver.read<{ number: string | number; generation: string | number }>(
      `SELECT t.number, t.generation FROM ${sql.tasks} AS t WHERE t.worker = $1`,
      [this.#claims.worker],
    )
    const held = new Map(rows.map(({ number, generation }) => [Number(number), Number(generation)]))
    for (const lease of leases) if (held.get(lease.task) !== lease.generation && !lease.isEnded) void lease.check()
  }

  async #stopClaiming(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#retry)
    await this.#claiming
  }

  get #freeSlots(): number {
    return this.#isStopped || this.#suspects.isTaken ? 0 : this.#options.concurrency - this.#runs.size
  }

  #claimDue(): void {
    if (this.#due.size > 0 && this.#freeSlots > 0) this.#claiming ??= this.#claimAll()
  }

  async #claimAll(): Promise<void> {
    const { log } = this.#host
    try {
      while (this.#due.size > 0 && this.#freeSlots > 0) await this.#claimOnce()
      log.succeeded('claim tasks')
    } catch (error) {
      log.failed('claim tasks', error)
      this.#pollAfter(PAUSE_MS)
    }
    this.#reserved = 0
    this.#claiming = undefined
    this.#claimDue()
  }

  async #claimOnce(): Promise<void> {
    const requestedAt = this.#store.driver.elapsedMs()
    const tools = [...this.#due]
    this.#due.clear()
    const order = this.#suspects.takeTurn() ? 'others first' : this.#looksForSuspects() ? 'suspects first' : 'others'
    const { claimed, more, isBusy } = await this.#store.driver.transaction(() => this.#claim(tools, order))
    for (const tool of more) this.#due.add(tool)
    for (const task of claimed) this.#start(task, requestedAt)
    if (isBusy) this.#pollAfter(BUSY_MS)
  }

  /** Whether to look for suspects this time; limits the statements of frequent claims. */
  #looksForSuspects(): boolean {
    const now = performance.now()
    if (now - this.#suspectsAt < SUSPECTS_EVERY_MS) return false
    this.#suspectsAt = now
    return true
  }

  /** Claims one suspect, or other ready tasks. */
  *#claim(tools: readonly string[], order: ClaimOrder): Transaction<ClaimOutcome> {
    const suspect = order === 'suspects first' ? yield* this.#claimSuspect(tools) : undefined
    if (suspect !== undefined && suspect.claimed.length > 0) return suspect
    const others = yield* this.#claimReady(tools)
    return others.claimed.length === 0 && order === 'others first' ? yield* this.#claimSuspect(tools) : others
  }

  *#claimSuspect(tools: readonly string[]): Transaction<ClaimOutcome> {
    const claimed = yield* claimSuspect(this.#store, { ...this.#claims, tools: [...this.#tools] })
    // A search for suspects covers all tools, so there are no more if it found none.
    return { claimed, more: claimed.length > 0 ? tools : [], isBusy: false }
  }

  *#claimReady(tools: readonly string[]): Transaction<ClaimOutcome> {
    const claimed: ClaimedTask[] = []
    const more: string[] = []
    let isBusy = false
    for (const tool of tools) {
      const slots = this.#freeSlots - claimed.length
      const found = slots > 0 ? yield* claimReady(this.#store, { ...this.#claims, tool, slots }) : undefined
      claimed.push(...(found?.claimed ?? []))
      if (found === undefined || found.isMore) more.push(tool)
      isBusy ||= found?.isBusy === true
    }
    return { claimed, more, isBusy }
  }

  #pollAfter(ms: number): void {
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.poll(), ms).unref()
  }

  #start(claimed: ClaimedTask, requestedAt: number): void {
    const { driver } = this.#store
    const { address, attempts } = claimed
    const writes = new LeaseWrites(this.#store, claimed)
    const lease = new SqlLease(claimed, {
      writes,
      times: this.#times,
      requestedAt,
      elapsedMs: () => driver.elapsedMs(),
      isLocked: () => driver.isLocked(),
      onChange: () => this.#host.emit({ kind: 'changed', task: address }),
      onProgress: (each) => this.#suspects.free(each),
    })
    this.#leases.add(lease)
    this.#renewal.start()
    if (isSuspect(attempts)) this.#suspects.take(lease, attempts, () => writes.endAlone())
    const run = this.#run(lease).then((hasRun) => {
      this.#runs.delete(run)
      void this.#release(lease, hasRun)
      this.#claimDue()
      if (this.#pollsAgain) this.poll()
    })
    this.#runs.add(run)
  }

  /** Returns whether the handler was run. */
  async #run(lease: SqlLease): Promise<boolean> {
    if (this.#isStopped) {
      await tryEnd(lease, () => lease.giveBack())
      return false
    }
    try {
      await this.#options.run(lease)
      this.#host.log.succeeded('run tasks')
    } catch (error) {
      this.#host.log.failed('run tasks', error)
    }
    return true
  }

  /** Releases a lease that its run has not ended, after a pause, with retries. */
  async #release(lease: SqlLease, hasRun: boolean): Promise<void> {
    while (!lease.isEnded) {
      await sleep(Math.min(PAUSE_MS, this.#store.settings.leaseMs / 2), undefined, { ref: false })
      await tryEnd(lease, () => (hasRun ? lease.abandon() : lease.giveBack()))
    }
    this.#leases.delete(lease)
  }
}

/** Tries to end a lease. After a failed write the caller may try again, unless the lease is lost. */
function tryEnd(lease: SqlLease, end: () => Promise<void>): Promise<void> {
  return end().catch((error: unknown) => {
    if (isLeaseLost(error)) lease.lose('taken')
  })
}

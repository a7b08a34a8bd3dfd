/**
 * The worker of one process: it claims tasks of its tools while slots are free.
 *
 * It claims on an event of the notifier, when a run has ended, and periodically, because no event announces an expired
 * lease. A run may return without having ended its lease; the lease then expires, so that a task that fails at once is
 * not run again at once. Tasks that have lost their process are run on trial, one at a time: see `src/tasks/trial.ts`.
 */
import { CODES } from '../../protocol/index.ts'
import { TrialSlot, UNREADABLE, type Working, type WorkOptions } from '../../tasks/internal.ts'
import { type PostgresClaimOptions, type LeasedTask, claimTasks } from './claim.ts'
import { PostgresLease } from './lease.ts'
import { type LeaseTimes, leaseTimes, pollInterval } from '../leaseTimes.ts'
import { LeaseWrites } from './leaseWrites.ts'
import { type EngineEvent, taskKey } from './events.ts'
import { ReadyTasks } from './ready.ts'
import type { PostgresTaskStore } from './store.ts'

// With many processes, most find an empty queue after an event. They pause before they claim from it again.
const EMPTY_PAUSE_MS = 20
const LOST_EVERY_MS = 100
// Few sizes, because each size is a prepared statement of its own on every connection.
const BATCHES = [16, 8, 4, 2, 1]

export class PostgresWorker implements Working {
  readonly #store: PostgresTaskStore
  readonly #options: WorkOptions
  readonly #notify: (event: EngineEvent) => void
  readonly #times: LeaseTimes
  readonly #ready: ReadyTasks
  readonly #tools: Set<string>
  /** The queues of the served tools, and those that may have ready tasks. */
  readonly #queues = new Set<string>()
  readonly #due = new Set<string>()
  readonly #pauses = new Map<string, NodeJS.Timeout>()
  readonly #leases = new Map<string, PostgresLease>()
  readonly #runs = new Set<Promise<void>>()
  readonly #trials = new TrialSlot(() => this.poll())
  /** Queues with suspects, which are fetched one at a time. */
  readonly #suspectQueues = new Set<string>()
  /** When tasks of lost workers were last claimed first, by queue and `performance.now()`. */
  readonly #lostFirstAt = new Map<string, number>()
  readonly #pollTimer: NodeJS.Timeout
  #claiming: Promise<void> | undefined
  /** Slots reserved for tasks that this worker will claim. */
  #reserved = 0
  #isStopped = false
  #isUnavailable = false

  constructor(store: PostgresTaskStore, options: WorkOptions, notify: (event: EngineEvent) => void) {
    this.#store = store
    this.#options = options
    this.#notify = notify
    this.#tools = new Set(options.tools)
    this.#times = leaseTimes(store.settings.leaseMs)
    this.#ready = new ReadyTasks(store)
    this.#pollTimer = setInterval(() => this.poll(), pollInterval(store.settings.leaseMs)).unref()
    this.poll()
  }

  serve(tool: string): void {
    this.#tools.add(tool)
    this.poll()
  }

  async stop(): Promise<void> {
    await this.#stopClaiming()
    await Promise.all(this.#runs)
  }

  /** Stops, aborts every run and returns the tasks to their queues. */
  async close(): Promise<void> {
    await this.#stopClaiming()
    await Promise.all(Array.from(this.#leases.values(), (lease) => lease.release()))
  }

  /** Reserves a slot for a task that is ready in this queue. If there is one, no other process has to be notified. */
  reserveSlot(queue: string): boolean {
    if (!this.#queues.has(queue) || this.#isUnavailable || this.#reserved >= this.#freeSlots) return false
    this.#reserved++
    return true
  }

  onEvent(event: EngineEvent): void {
    if (event.kind === 'cancelled') void this.#leases.get(event.task)?.check()
    if ('queue' in event && this.#queues.has(event.queue)) this.#pollQueue(event.queue)
  }

  /** Claims from every queue. */
  poll(): void {
    if (this.#isStopped) return
    for (const tool of this.#tools) {
      this.#store.jobs.queueOf(tool).then(
        (queue) => this.#pollQueue(queue),
        (error: unknown) => this.#report(error),
      )
    }
  }

  /** Checks the leases of all runs. */
  checkAll(): void {
    for (const lease of this.#leases.values()) void lease.check()
  }

  async #stopClaiming(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#pollTimer)
    for (const timer of this.#pauses.values()) clearTimeout(timer)
    await this.#claiming
  }

  #pollQueue(queue: string): void {
    this.#queues.add(queue)
    this.#due.add(queue)
    this.#claimDue()
  }

  #pause(queue: string): void {
    const timer = setTimeout(() => {
      this.#pauses.delete(queue)
      this.#claimDue()
    }, EMPTY_PAUSE_MS)
    this.#pauses.set(queue, timer)
  }

  get #freeSlots(): number {
    return this.#isStopped || this.#trials.isTaken ? 0 : this.#options.concurrency - this.#runs.size
  }

  #claimDue(): void {
    if (this.#nextDue() === undefined || this.#freeSlots <= 0) return
    this.#claiming ??= this.#claimAll().then(
      () => this.#onClaimed(undefined),
      (error: unknown) => this.#onClaimed(error),
    )
  }

  /** After a failure the worker waits for the next poll. */
  #onClaimed(error: unknown): void {
    this.#claiming = undefined
    this.#reserved = 0
    this.#report(error)
    if (error === undefined) this.#claimDue()
  }

  #nextDue(): string | undefined {
    return [...this.#due].find((queue) => !this.#pauses.has(queue))
  }

  /** Round robin: a queue that may have more tasks goes to the end of the set. */
  async #claimAll(): Promise<void> {
    const { holdMs } = this.#times
    for (let queue = this.#nextDue(); queue !== undefined; queue = this.#nextDue()) {
      const size = BATCHES.find((size) => size <= this.#freeSlots)
      if (size === undefined) return
      this.#due.delete(queue)
      const hasSuspects = this.#suspectQueues.delete(queue)
      const limit = hasSuspects ? 1 : size
      await this.#claimFrom(queue, {
        ready: this.#ready,
        isLostFirst: hasSuspects || this.#isLostFirst(queue),
        queue,
        limit,
        holdMs,
        isRunning: this.#leases.size > 0,
        pauseMs: this.#trials.pauseMs,
      })
    }
  }

  /** Fewer statements where there are many claims. */
  #isLostFirst(queue: string): boolean {
    const now = performance.now()
    if (now - (this.#lostFirstAt.get(queue) ?? Number.NEGATIVE_INFINITY) < LOST_EVERY_MS) return false
    this.#lostFirstAt.set(queue, now)
    return true
  }

  async #claimFrom(queue: string, options: PostgresClaimOptions): Promise<void> {
    const requestedAt = performance.now()
    const { leased, exhausted, isFull, hasSuspects } = await claimTasks(this.#store, options)
    if (isFull || hasSuspects) this.#due.add(queue)
    else if (leased.length === 0) this.#pause(queue)
    if (hasSuspects) this.#suspectQueues.add(queue)
    for (const id of exhausted) this.#notify({ kind: 'changed', task: taskKey(this.#store, id) })
    // Before the new runs begin: one of them may crash the process at once.
    if (leased.length > 0) await Promise.all(Array.from(this.#leases.values(), (lease) => lease.markShared()))
    for (const row of leased) this.#start(row, queue, requestedAt)
    // This worker claims nothing else for a while.
    if (this.#trials.isTaken) this.#notify({ kind: 'created', queue })
  }

  #start(row: LeasedTask, queue: string, requestedAt: number): void {
    const lease = this.#leaseOf(row, queue, requestedAt)
    if (lease === undefined) return
    const task = taskKey(this.#store, row.id)
    this.#leases.set(task, lease)
    const run = this.#runOnce(lease, row.crashes)
      // A lease that could not be given back expires.
      .catch(() => {})
      .then(() => {
        lease.abandon()
        // This worker may have claimed the same task again after the lease was lost.
        if (this.#leases.get(task) === lease) this.#leases.delete(task)
        this.#runs.delete(run)
        this.#claimDue()
      })
    this.#runs.add(run)
  }

  async #runOnce(lease: PostgresLease, crashes: number): Promise<void> {
    const run = () => this.#options.run(lease)
    const isStopped = () => this.#isStopped
    if (crashes > 0) {
      const isAlone = () => this.#leases.size <= 1
      if (!(await this.#trials.try({ lease, crashes, isAlone, isStopped, run }))) await lease.giveBack()
    } else await (isStopped() ? lease.giveBack() : run())
  }

  /** Undefined when the rows are damaged; the task then fails. */
  #leaseOf(row: LeasedTask, queue: string, requestedAt: number): PostgresLease | undefined {
    const task = taskKey(this.#store, row.id)
    const writes = new LeaseWrites(this.#store, { ...row, queue })
    try {
      return new PostgresLease(row, {
        writes,
        times: this.#times,
        requestedAt,
        onChange: () => this.#notify({ kind: 'changed', task }),
        onReady: () => this.#notify({ kind: 'ready', task, queue }),
        onProgress: (lease) => this.#trials.free(lease),
      })
    } catch (error) {
      const message = error instanceof Error ? error.message : ''
      this.#store
        .logger()
        .error({ task: row.id, err: { message } }, 'The stored data of a task is damaged; the task fails.')
      void this.#fail(writes, task)
      return undefined
    }
  }

  /** If this cannot be written now, the lease expires and the next worker tries again. */
  async #fail(writes: LeaseWrites, task: string): Promise<void> {
    const failure = { code: CODES.INTERNAL_ERROR, message: UNREADABLE }
    const hasFailed = await writes.end({ status: 'failed', failure }).catch(() => false)
    if (hasFailed) this.#notify({ kind: 'changed', task })
  }

  /** Logs once that the database is unavailable, and once that it is back. */
  #report(error: unknown): void {
    const isUnavailable = error !== undefined
    if (isUnavailable === this.#isUnavailable || this.#isStopped) return
    this.#isUnavailable = isUnavailable
    const { message } = error instanceof Error ? error : { message: '' }
    if (isUnavailable)
      this.#store
        .logger()
        .warn({ err: { message } }, 'The database is unavailable, so no tasks are claimed; this is tried again.')
    else this.#store.logger().info({}, 'The database is available again; tasks are claimed.')
  }
}

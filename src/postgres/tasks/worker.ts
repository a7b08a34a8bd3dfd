/**
 * The worker of one process: takes tasks of the tools it serves, as many as it has room for.
 *
 * It looks when the bell says so, when a run has ended, and every so often: a lease that has lapsed rings no bell. A run
 * that ends without having ended its lease leaves it to lapse, so what fails at once is not run again at once.
 */
import { UNREADABLE, type Working, type WorkOptions } from '../../tasks/internal.ts'
import { type LeasedTask, claimTasks } from './claim.ts'
import { PostgresLease } from './lease.ts'
import { LeaseWrites } from './leaseWrites.ts'
import { type EngineEvent, taskKey } from './events.ts'
import type { PostgresTaskStore } from './store.ts'

// A worker that dies right after a renewal is found out within the first two together: in time, with a little to spare.
const HOLD_SHARE = 3 / 4
const POLL_SHARE = 1 / 8
const RENEW_SHARE = 1 / 4
const MAX_POLL_MS = 1000
// Where many processes hear of each task, limit come too late; they do not come again at once.
const EMPTY_PAUSE_MS = 20
// Each size is a statement of its own, and every connection keeps the statements it has seen.
const BATCHES = [16, 8, 4, 2, 1]

export class PostgresWorker implements Working {
  readonly #store: PostgresTaskStore
  readonly #options: WorkOptions
  readonly #notify: (news: EngineEvent) => void
  readonly #tools: Set<string>
  /** Queues of tools that are served, and those of them that may have something. */
  readonly #queues = new Set<string>()
  readonly #due = new Set<string>()
  readonly #pauses = new Map<string, NodeJS.Timeout>()
  readonly #leases = new Map<string, PostgresLease>()
  readonly #runs = new Set<Promise<void>>()
  readonly #pollTimer: NodeJS.Timeout
  #claiming: Promise<void> | undefined
  /** Tasks that were left to this worker and that it has not looked for yet. */
  #reserved = 0
  #isStopped = false
  #isUnavailable = false

  constructor(store: PostgresTaskStore, options: WorkOptions, tell: (news: EngineEvent) => void) {
    this.#store = store
    this.#options = options
    this.#notify = tell
    this.#tools = new Set(options.tools)
    const pollMs = Math.min(store.settings.leaseMs * POLL_SHARE, MAX_POLL_MS)
    this.#pollTimer = setInterval(() => this.poll(), pollMs).unref()
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

  /** Stops, tells every run that it has lost its lease, and lets others have the tasks. */
  async close(): Promise<void> {
    await this.#stopClaiming()
    await Promise.all(Array.from(this.#leases.values(), (lease) => lease.release()))
  }

  /** Whether this worker sees to a task that has become ready, so that no other process has to be woken for it. */
  reserveSlot(queue: string): boolean {
    if (!this.#queues.has(queue) || this.#isUnavailable || this.#reserved >= this.#freeSlots) return false
    this.#reserved++
    return true
  }

  onEvent(news: EngineEvent): void {
    if (news.kind === 'over') void this.#leases.get(news.task)?.check()
    if ('queue' in news && this.#queues.has(news.queue)) this.#pollQueue(news.queue)
  }

  /** Looks into every queue. */
  poll(): void {
    for (const tool of this.#tools) {
      this.#store.jobs.queueOf(tool).then(
        (queue) => this.#pollQueue(queue),
        (error: unknown) => this.#report(error),
      )
    }
  }

  /** Looks at everything that is under way. */
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
    return this.#isStopped ? 0 : this.#options.concurrency - this.#runs.size
  }

  #claimDue(): void {
    if (this.#nextDue() === undefined || this.#freeSlots <= 0) return
    this.#claiming ??= this.#claimAll().then(
      () => this.#onClaimed(undefined),
      (error: unknown) => this.#onClaimed(error),
    )
  }

  /** After a failure the next poll is soon enough. */
  #onClaimed(error: unknown): void {
    this.#claiming = undefined
    this.#reserved = 0
    this.#report(error)
    if (error === undefined) this.#claimDue()
  }

  #nextDue(): string | undefined {
    return [...this.#due].find((queue) => !this.#pauses.has(queue))
  }

  /** A queue that has more comes to the end of the line. */
  async #claimAll(): Promise<void> {
    const holdMs = this.#store.settings.leaseMs * HOLD_SHARE
    for (let queue = this.#nextDue(); queue !== undefined; queue = this.#nextDue()) {
      const limit = BATCHES.find((size) => size <= this.#freeSlots)
      if (limit === undefined) return
      this.#due.delete(queue)
      const askedAt = performance.now()
      const { leased, exhausted, isFull } = await claimTasks(this.#store, { queue, limit, holdMs })
      if (isFull) this.#due.add(queue)
      else if (leased.length === 0) this.#pause(queue)
      for (const id of exhausted) this.#notify({ kind: 'changed', task: taskKey(this.#store, id) })
      for (const row of leased) this.#start(row, queue, askedAt)
    }
  }

  #start(row: LeasedTask, queue: string, askedAt: number): void {
    const lease = this.#leaseOf(row, queue, askedAt)
    if (lease === undefined) return
    const task = taskKey(this.#store, row.id)
    this.#leases.set(task, lease)
    const run = (this.#isStopped ? lease.giveBack() : this.#options.run(lease))
      // What could not be given back lapses.
      .catch(() => {})
      .then(() => {
        lease.abandon()
        // A lease that was lost may have been followed by another of the same task.
        if (this.#leases.get(task) === lease) this.#leases.delete(task)
        this.#runs.delete(run)
        this.#claimDue()
      })
    this.#runs.add(run)
  }

  /** Undefined where the rows are damaged; then the task is given up. */
  #leaseOf(row: LeasedTask, queue: string, askedAt: number): PostgresLease | undefined {
    const { leaseMs } = this.#store.settings
    const task = taskKey(this.#store, row.id)
    const writes = new LeaseWrites(this.#store, { ...row, queue })
    try {
      return new PostgresLease(row, {
        writes,
        holdMs: leaseMs * HOLD_SHARE,
        renewMs: leaseMs * RENEW_SHARE,
        askedAt,
        onChange: () => this.#notify({ kind: 'changed', task }),
        onReady: () => this.#notify({ kind: 'ready', task, queue }),
      })
    } catch (error) {
      const message = error instanceof Error ? error.message : ''
      this.#store.logger().error({ task: row.id, err: { message } }, 'A task cannot be read and is given up.')
      void this.#fail(writes, task)
      return undefined
    }
  }

  /** Where that cannot be written now, the lease lapses and whoever comes next tries it again. */
  async #fail(writes: LeaseWrites, task: string): Promise<void> {
    const failure = { code: -32603, message: UNREADABLE }
    const isGivenUp = await writes.end({ status: 'failed', failure }).catch(() => false)
    if (isGivenUp) this.#notify({ kind: 'changed', task })
  }

  /** Says once that the database is away, and once that it is back. */
  #report(error: unknown): void {
    const isAway = error !== undefined
    if (isAway === this.#isUnavailable || this.#isStopped) return
    this.#isUnavailable = isAway
    const { message } = error instanceof Error ? error : { message: '' }
    if (isAway) this.#store.logger().warn({ err: { message } }, 'No tasks can be taken; this is tried again.')
    else this.#store.logger().info({}, 'Tasks can be taken again.')
  }
}

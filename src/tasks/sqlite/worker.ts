/**
 * The worker of this process: it claims tasks while slots are free, and aborts runs that have lost their lease.
 *
 * A run may return while it still holds its lease, because it could not end it. The lease is then released after a pause,
 * so that a task that fails at once is not run again at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { withStoreErrors } from '../../state/stores/index.ts'
import type { Working, WorkOptions } from '../engine.ts'
import { TrialSlot } from '../trial.ts'
import { isLeaseLost, type LossReason } from '../errors.ts'
import { type ClaimedTask, claimReady, WorkerSlots } from './claim.ts'
import type { FailureLog } from './failureLog.ts'
import type { Heartbeat } from './heartbeat.ts'
import { SqliteLease } from './lease.ts'
import type { Tables } from './rows/tables.ts'

const PAUSE_MS = 1000

export class SqliteWorker {
  readonly #tables: Tables
  readonly #heartbeat: Heartbeat
  readonly #log: FailureLog
  readonly #slots = new Set<WorkerSlots>()
  readonly #leases = new Set<SqliteLease>()
  readonly #trials = new TrialSlot(() => {
    if (this.#slots.size > 0) this.claim()
  })
  #isClaiming = false
  #claimsAgain = false

  constructor(tables: Tables, heartbeat: Heartbeat, log: FailureLog) {
    this.#tables = tables
    this.#heartbeat = heartbeat
    this.#log = log
  }

  work(options: WorkOptions): Working {
    const slots = new WorkerSlots(options)
    this.#slots.add(slots)
    this.claim()
    return {
      serve: (tool) => {
        slots.serve(tool)
        this.claim()
      },
      stop: () => {
        this.#slots.delete(slots)
        return slots.stop()
      },
    }
  }

  /** Claims tasks if any are ready; checking that takes no lock. */
  wake(): void {
    this.#log.try('check for ready tasks', () => {
      for (const slots of this.#slots) slots.mayHaveMore ||= slots.free <= 0
      if (this.#trials.isTaken) return
      if ([...this.#slots].some(({ free, tools }) => free > 0 && this.#isReady(tools))) this.claim()
    })
  }

  /** Claims ready tasks. If a write calls this, it happens in the same transaction. */
  claim(): void {
    if (this.#isClaiming) this.#claimsAgain = true
    else void this.#claimAll()
  }

  /** Aborts the runs whose task was taken by another worker, was cancelled or has expired. */
  check(): void {
    const worker = this.#heartbeat.workerId
    if (worker === undefined || this.#leases.size === 0) return
    const held = this.#tables.leases.heldBy(worker)
    for (const lease of this.#leases) {
      if (!lease.isEnded && held.get(lease.key.task) !== lease.key.epoch) lease.lose(lease.whyLost())
    }
  }

  /** Aborts the runs whose task has expired. */
  expire(): void {
    const now = this.#tables.store.now()
    for (const lease of this.#leases) {
      if (lease.expiresAt !== null && lease.expiresAt <= now) lease.lose('expired')
    }
  }

  /** Aborts the run of this task, if it is here. */
  lose(task: number, reason: LossReason): void {
    for (const lease of this.#leases) {
      if (lease.key.task === task) lease.lose(reason)
    }
  }

  loseAll(reason: LossReason): void {
    for (const lease of this.#leases) lease.lose(reason)
  }

  close(): void {
    this.#slots.clear()
    this.loseAll('closed')
  }

  #isReady(tools: ReadonlySet<string>): boolean {
    const { leases, ready } = this.#tables
    return withStoreErrors(() => ready.isAny(tools) || leases.suspect(tools) !== undefined)
  }

  async #claimAll(): Promise<void> {
    this.#isClaiming = true
    try {
      do {
        this.#claimsAgain = false
        for (const claimed of await this.#tables.store.writes.write(() => this.#claimNow())) void this.#run(claimed)
      } while (this.#claimsAgain)
      this.#log.succeeded('claim tasks')
    } catch (error) {
      this.#log.failed('claim tasks', error)
      setTimeout(() => this.wake(), PAUSE_MS).unref()
    } finally {
      this.#isClaiming = false
    }
  }

  #claimNow(): ClaimedTask[] {
    const worker = this.#heartbeat.workerId
    return worker === undefined ? [] : claimReady(this.#tables, { worker, slots: this.#slots, trials: this.#trials })
  }

  async #run({ slots, content }: ClaimedTask): Promise<void> {
    const lease = new SqliteLease(content, this.#tables, {
      onReady: () => this.claim(),
      onProgress: () => this.#trials.free(lease),
      isAlive: () => this.#heartbeat.isAlive(),
    })
    this.#leases.add(lease)
    const hasRun = await this.#runOnce(slots, lease, content.crashes)
    if (!hasRun) await tryEnd(lease, () => lease.giveBack())
    if (slots.mayHaveMore) this.wake()
    while (!lease.isEnded) {
      await sleep(this.#pauseMs, undefined, { ref: false })
      await tryEnd(lease, () => (hasRun ? lease.abandon() : lease.giveBack()))
    }
    this.#leases.delete(lease)
  }

  /** Gives whether the handler was run. */
  async #runOnce(slots: WorkerSlots, lease: SqliteLease, crashes: number): Promise<boolean> {
    const run = () => this.#runHandler(slots, lease)
    const isStopped = () => slots.free <= 0
    if (crashes > 0) {
      return this.#trials.try({ lease, crashes, isAlone: () => this.#leases.size === 1, isStopped, run })
    }
    if (isStopped()) return false
    await run()
    return true
  }

  get #pauseMs(): number {
    return Math.min(PAUSE_MS, this.#tables.store.settings.leaseMs / 2)
  }

  async #runHandler(slots: WorkerSlots, lease: SqliteLease): Promise<void> {
    slots.occupy()
    try {
      await slots.run(lease)
      this.#log.succeeded('run tasks')
    } catch (error) {
      this.#log.failed('run tasks', error)
    } finally {
      slots.release()
    }
  }
}

/** Tries to end a lease. After a failed write the caller may try again, unless the lease is lost. */
function tryEnd(lease: SqliteLease, end: () => Promise<void>): Promise<void> {
  return end().catch((error: unknown) => {
    if (isLeaseLost(error)) lease.lose('taken')
  })
}

/**
 * The runs of this process: taking tasks while there is room, and telling runs that their lease is lost.
 *
 * A run that returns while it holds its lease could not end it. Its task is lost after a pause, so that what fails at
 * once is not run again at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Working, WorkOptions } from '../engine.ts'
import { isLeaseLost, type LossReason } from '../errors.ts'
import { type Taken, takeReady, WorkOrder } from './claim.ts'
import type { Calm } from './failureLog.ts'
import type { Presence } from './heartbeat.ts'
import { SqliteLease } from './lease.ts'
import type { Tables } from './rows/tables.ts'

const PAUSE_MS = 1000

export class Runs {
  readonly #tables: Tables
  readonly #presence: Presence
  readonly #calm: Calm
  readonly #orders = new Set<WorkOrder>()
  readonly #leases = new Set<SqliteLease>()
  #isTaking = false
  #takesAgain = false

  constructor(tables: Tables, presence: Presence, calm: Calm) {
    this.#tables = tables
    this.#presence = presence
    this.#calm = calm
  }

  work(options: WorkOptions): Working {
    const order = new WorkOrder(options)
    this.#orders.add(order)
    this.take()
    return {
      serve: (tool) => {
        order.serve(tool)
        this.take()
      },
      stop: () => {
        this.#orders.delete(order)
        return order.stop()
      },
    }
  }

  /** Takes what is ready, if anything is; looking costs no lock. */
  wake(): void {
    this.#calm.try('look for tasks', () => {
      const { leases } = this.#tables
      for (const order of this.#orders) order.hasLeftSome ||= order.room <= 0
      if ([...this.#orders].some(({ room, tools }) => room > 0 && leases.isReady(tools))) this.take()
    })
  }

  /** Takes what is ready. Called by a write, it does so in the same transaction. */
  take(): void {
    if (this.#isTaking) this.#takesAgain = true
    else void this.#takeAll()
  }

  /** Tells the runs whose task was taken, cancelled or has expired. */
  check(): void {
    const worker = this.#presence.id
    if (worker === undefined || this.#leases.size === 0) return
    const held = this.#tables.leases.heldBy(worker)
    for (const lease of this.#leases) {
      if (!lease.isOver && held.get(lease.key.task) !== lease.key.epoch) lease.lose(lease.whyLost())
    }
  }

  /** Tells the runs whose time is over. */
  expire(): void {
    const now = this.#tables.store.now()
    for (const lease of this.#leases) {
      if (lease.expiresAt !== null && lease.expiresAt <= now) lease.lose('expired')
    }
  }

  /** The run of this task, if it is here, is over. */
  lose(task: number, reason: LossReason): void {
    for (const lease of this.#leases) {
      if (lease.key.task === task) lease.lose(reason)
    }
  }

  loseAll(reason: LossReason): void {
    for (const lease of this.#leases) lease.lose(reason)
  }

  close(): void {
    this.#orders.clear()
    this.loseAll('closed')
  }

  async #takeAll(): Promise<void> {
    this.#isTaking = true
    try {
      do {
        this.#takesAgain = false
        for (const taken of await this.#tables.store.commits.write(() => this.#takeNow())) void this.#run(taken)
      } while (this.#takesAgain)
      this.#calm.went('take tasks')
    } catch (error) {
      this.#calm.failed('take tasks', error)
      setTimeout(() => this.wake(), PAUSE_MS).unref()
    } finally {
      this.#isTaking = false
    }
  }

  #takeNow(): Taken[] {
    const worker = this.#presence.id
    return worker === undefined ? [] : takeReady(this.#tables, worker, this.#orders)
  }

  async #run({ order, content }: Taken): Promise<void> {
    const lease = new SqliteLease(content, this.#tables, () => this.take())
    this.#leases.add(lease)
    if (order.room > 0) await this.#play(order, lease)
    else await tryToEnd(lease, () => lease.giveBack())
    if (order.hasLeftSome) this.wake()
    while (!lease.isOver) {
      await sleep(this.#pauseMs, undefined, { ref: false })
      await tryToEnd(lease, () => lease.abandon())
    }
    this.#leases.delete(lease)
  }

  get #pauseMs(): number {
    return Math.min(PAUSE_MS, this.#tables.store.settings.leaseMs / 2)
  }

  async #play(order: WorkOrder, lease: SqliteLease): Promise<void> {
    order.begin()
    try {
      await order.run(lease)
      this.#calm.went('run tasks')
    } catch (error) {
      this.#calm.failed('run tasks', error)
    } finally {
      order.end()
    }
  }
}

/** Tries to end a lease; what cannot be written now may be later, unless the lease is lost. */
async function tryToEnd(lease: SqliteLease, end: () => Promise<void>): Promise<void> {
  await end().catch((error: unknown) => {
    if (isLeaseLost(error)) lease.lose('taken')
  })
}

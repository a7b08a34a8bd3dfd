/**
 * The heartbeat of this process's worker, and the supervision of the other workers that use the file.
 *
 * - A worker increments a counter three times per `leaseMs`. Clocks are not compared: a worker is dead when another one
 *   has seen the same counter value for `leaseMs` by its own monotonic clock.
 * - The clock stands still while another process has locked the file: then no worker can write its heartbeat.
 * - Reclaiming removes the row of a dead worker and releases its tasks in one transaction, provided that the counter has
 *   not changed since. A process of this machine that has exited is reclaimed at once.
 * - After a silence a worker does not know whether others have reclaimed its tasks. It increments its counter before it
 *   begins anything: either its row is removed already, or others wait for another `leaseMs`.
 * - A worker that finds its own row removed has lost its leases, and registers again under a new id.
 */
import { randomUUID } from 'node:crypto'
import { withoutWaiting, withStoreErrors } from '../../state/stores/index.ts'
import { LOST_TOO_OFTEN } from '../errors.ts'
import { hasExited, identityOf, type ProcessIdentity } from './processIdentity.ts'
import type { Tables } from './rows/tables.ts'
import type { WorkerRow } from './rows/workers.ts'

// The share of `leaseMs` after which a worker has been silent for long. In between it has sent two heartbeats.
const SILENCE_SHARE = 3 / 4

// After this process was suspended, the clock advances by this much only; otherwise all other workers would seem dead.
const MAX_CLOCK_STEP_MS = 1000

interface ObservedWorker extends WorkerRow {
  /** The time on our own clock when this counter value was first seen. */
  readonly since: number
}

export interface HeartbeatEvents {
  /** Other workers have reclaimed every lease of this worker. */
  onLost(): void
  /** Called inside a transaction: tasks were reclaimed, or this worker was registered, so tasks can be claimed. */
  onReady(): void
}

export class Heartbeat {
  readonly #tables: Tables
  readonly #events: HeartbeatEvents
  readonly #identity: ProcessIdentity = identityOf(process.pid)
  readonly #others = new Map<string, ObservedWorker>()
  #workerId: string | undefined
  #isRegistered = false
  /** Others reclaim nothing before this time, by `performance.now()`. */
  #aliveUntil = 0
  #clockMs = 0
  #readAt = performance.now()

  constructor(tables: Tables, events: HeartbeatEvents) {
    this.#tables = tables
    this.#events = events
  }

  /** The id of this worker; undefined while it is not registered. */
  get workerId(): string | undefined {
    return this.#workerId
  }

  /** Registers this worker. The id is set at once; other workers see it when the promise has resolved. */
  async register(): Promise<void> {
    const id = randomUUID()
    this.#workerId = id
    this.#isRegistered = false
    const { store, workers } = this.#tables
    const { leaseMs } = store.settings
    const beganAt = performance.now()
    await store.writes.write(() => {
      workers.add({ id, process: this.#identity, leaseMs })
      this.#events.onReady()
    })
    this.#isRegistered = this.#workerId === id
    this.#heardAt(beganAt)
  }

  async beat(): Promise<void> {
    const id = this.#workerId
    if (id === undefined) return
    const { store, workers } = this.#tables
    const beganAt = performance.now()
    const isRegistered = await store.writes.write(() => workers.beat(id))
    if (isRegistered) this.#heardAt(beganAt)
    else if (this.#workerId === id) await this.#registerAgain()
  }

  /** Whether this worker has its leases. After a silence this writes at once, because others may be about to reclaim them. */
  isAlive(): boolean {
    const id = this.#workerId
    if (performance.now() < this.#aliveUntil || id === undefined || !this.#isRegistered) return true
    const isRegistered = this.#beatNow(id)
    if (!isRegistered) this.#events.onLost()
    return isRegistered
  }

  /** Reads the counters of all workers, and whether this one is still registered. */
  async observe(): Promise<void> {
    this.#advanceClock()
    const rows = new Map(this.#tables.workers.all().map((row) => [row.id, row]))
    const isLost = this.#isRegistered && this.#workerId !== undefined && !rows.has(this.#workerId)
    if (this.#workerId !== undefined) rows.delete(this.#workerId)
    for (const id of this.#others.keys()) {
      if (!rows.has(id)) this.#others.delete(id)
    }
    for (const [id, row] of rows) {
      if (this.#others.get(id)?.beat !== row.beat) this.#others.set(id, { ...row, since: this.#clockMs })
    }
    if (isLost) await this.#registerAgain()
  }

  /** Releases the tasks of dead workers. */
  async reclaim(): Promise<void> {
    this.#advanceClock()
    if (this.#tables.store.writes.isLocked) return
    const dead = [...this.#others.values()].filter(
      ({ process, leaseMs, since }) => this.#clockMs - since >= leaseMs || hasExited(process),
    )
    await Promise.all(dead.map((worker) => this.#reclaimFrom(worker)))
  }

  /** Removes this worker; its tasks are ready for others. */
  async unregister(): Promise<void> {
    const id = this.#workerId
    if (id === undefined) return
    this.#workerId = undefined
    const { store, workers, leases } = this.#tables
    await store.writes.write(() => {
      leases.releaseAll(id)
      workers.remove(id)
    })
  }

  #beatNow(id: string): boolean {
    const { store, workers } = this.#tables
    const beganAt = performance.now()
    const beat = (): boolean => withStoreErrors(() => workers.beat(id))
    try {
      // This blocks the event loop, so a file that was found locked is not waited for again.
      const isRegistered = store.writes.isLocked ? withoutWaiting(store.database, beat) : beat()
      if (isRegistered) this.#heardAt(beganAt)
      return isRegistered
    } catch {
      // Nobody can write now, so nobody can reclaim anything either.
      return workers.isRegistered(id)
    }
  }

  #heardAt(time: number): void {
    this.#aliveUntil = time + this.#tables.store.settings.leaseMs * SILENCE_SHARE
  }

  async #registerAgain(): Promise<void> {
    this.#events.onLost()
    await this.register()
  }

  #advanceClock(): void {
    const now = performance.now()
    if (!this.#tables.store.writes.isLocked) this.#clockMs += Math.min(now - this.#readAt, MAX_CLOCK_STEP_MS)
    this.#readAt = now
  }

  async #reclaimFrom(worker: ObservedWorker): Promise<void> {
    const { store, workers, leases, transitions } = this.#tables
    const isReclaimed = await store.writes.write(() => {
      if (!workers.removeSilent(worker)) return false
      for (const lost of leases.lostBy(worker.id)) {
        if (leases.isExhaustedBy(lost)) transitions.fail(lost.task, LOST_TOO_OFTEN)
        else leases.releaseLost(lost)
      }
      this.#events.onReady()
      return true
    })
    if (isReclaimed) this.#others.delete(worker.id)
  }
}

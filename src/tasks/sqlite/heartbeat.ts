/**
 * This worker among the others that use the file.
 *
 * - A worker shows that it lives by a number that grows, three times in the time it may be silent. No clock is compared:
 *   whoever sees the same number for that long, by its own watch, takes the worker for dead.
 * - The dead lose their row and their tasks in one transaction, and only if the number is still the one that was seen. A
 *   process of this machine that is gone is not waited for.
 * - Whoever wakes and finds its row gone has lost everything, and begins anew under another name.
 */
import { randomUUID } from 'node:crypto'
import { LOST_TOO_OFTEN } from '../errors.ts'
import { hasExited, identityOf, type ProcessIdentity } from './processIdentity.ts'
import type { Tables } from './rows/tables.ts'
import type { WorkerRow } from './rows/workers.ts'

// While this process sleeps its watch stands still: others must not die of it.
const MAX_CLOCK_STEP_MS = 1000

interface ObservedWorker extends WorkerRow {
  /** What our own watch showed when this beat was first seen. */
  readonly since: number
}

export interface HeartbeatEvents {
  /** Everything this worker had belongs to others. */
  onLost(): void
  /** Inside a transaction: tasks of somebody else are ready, or this worker is. */
  onReady(): void
}

export class Heartbeat {
  readonly #tables: Tables
  readonly #events: HeartbeatEvents
  readonly #identity: ProcessIdentity = identityOf(process.pid)
  readonly #others = new Map<string, ObservedWorker>()
  #id: string | undefined
  #isKnown = false
  #clockMs = 0
  #readAt = performance.now()

  constructor(tables: Tables, events: HeartbeatEvents) {
    this.#tables = tables
    this.#events = events
  }

  /** The name of this worker; undefined when it is none. */
  get workerId(): string | undefined {
    return this.#id
  }

  /** Becomes a worker. The name counts from here on; it is known to others when the promise resolves. */
  async register(): Promise<void> {
    const id = randomUUID()
    this.#id = id
    this.#isKnown = false
    const { store, workers } = this.#tables
    const { leaseMs } = store.settings
    await store.writes.write(() => {
      workers.add({ id, process: this.#identity, leaseMs })
      this.#events.onReady()
    })
    this.#isKnown = this.#id === id
  }

  async beat(): Promise<void> {
    const id = this.#id
    if (id === undefined) return
    const { store, workers } = this.#tables
    const isKnown = await store.writes.write(() => workers.beat(id))
    if (!isKnown && this.#id === id) await this.#registerAgain()
  }

  /** Looks who else is there, and whether this worker still is. */
  async observe(): Promise<void> {
    this.#advanceClock()
    const rows = new Map(this.#tables.workers.all().map((row) => [row.id, row]))
    const isLost = this.#isKnown && this.#id !== undefined && !rows.has(this.#id)
    if (this.#id !== undefined) rows.delete(this.#id)
    for (const id of this.#others.keys()) {
      if (!rows.has(id)) this.#others.delete(id)
    }
    for (const [id, row] of rows) {
      if (this.#others.get(id)?.beat !== row.beat) this.#others.set(id, { ...row, since: this.#clockMs })
    }
    if (isLost) await this.#registerAgain()
  }

  /** Takes the tasks of those who are dead. */
  async reclaim(): Promise<void> {
    this.#advanceClock()
    const dead = [...this.#others.values()].filter(
      ({ process, leaseMs, since }) => this.#clockMs - since >= leaseMs || hasExited(process),
    )
    await Promise.all(dead.map((worker) => this.#reclaimFrom(worker)))
  }

  /** Stops being a worker; what it had is ready for others. */
  async unregister(): Promise<void> {
    const id = this.#id
    if (id === undefined) return
    this.#id = undefined
    const { store, workers, leases } = this.#tables
    await store.writes.write(() => {
      leases.releaseAll(id)
      workers.remove(id)
    })
  }

  async #registerAgain(): Promise<void> {
    this.#events.onLost()
    await this.register()
  }

  #advanceClock(): void {
    const now = performance.now()
    this.#clockMs += Math.min(now - this.#readAt, MAX_CLOCK_STEP_MS)
    this.#readAt = now
  }

  async #reclaimFrom(worker: ObservedWorker): Promise<void> {
    const { store, workers, leases, transitions } = this.#tables
    const isBuried = await store.writes.write(() => {
      if (!workers.removeSilent(worker)) return false
      for (const task of leases.exhaustedOf(worker.id)) transitions.fail(task, LOST_TOO_OFTEN)
      leases.releaseAllLost(worker.id)
      this.#events.onReady()
      return true
    })
    if (isBuried) this.#others.delete(worker.id)
  }
}

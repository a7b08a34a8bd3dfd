/** Renews the leases of one worker, all of them by one statement. */
import type { LeaseTimes } from '../leaseTimes.ts'
import type { SqlLease } from './lease.ts'
import type { TaskStore } from './store.ts'

export interface RenewalOptions {
  readonly worker: string
  readonly times: LeaseTimes
  readonly leases: ReadonlySet<SqlLease>
}

export class Renewal {
  readonly #store: TaskStore
  readonly #options: RenewalOptions
  #timer: NodeJS.Timeout | undefined

  constructor(store: TaskStore, options: RenewalOptions) {
    this.#store = store
    this.#options = options
  }

  /** The worker holds leases. */
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

  /** While the database is unavailable, this is repeated, also when there is no response. */
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
    // A later attempt has begun already, or the worker has stopped.
    if (this.#timer === attempt) this.#renewAfter(held === undefined ? retryMs : renewMs)
  }

  /** The generations of the tasks that this worker holds. */
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

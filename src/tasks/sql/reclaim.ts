/**
 * Releases the tasks of lost workers, all tasks of one worker at once.
 *
 * A worker is lost when one of its leases has expired, because it renews all of them together, or when its process has
 * exited. A process that was itself suspended waits for the time of one lease: the others may have been suspended with
 * it, and need time to renew theirs.
 */
import { DAY_MS } from '../../protocol/index.ts'
import { retryMs } from '../attempts.ts'
import { LOST_TOO_OFTEN } from '../errors.ts'
import { change, emit, query, type Transaction } from './driver.ts'
import { RELEASED, type TaskStore } from './store.ts'
import { failTask } from './transitions.ts'

// If the pause between two checks exceeds this share of `leaseMs`, this process counts as suspended.
const SILENCE_SHARE = 3 / 4
// A transaction that had to wait for longer does nothing: no lease could be renewed in the meantime.
const MAX_WAIT_MS = 1000

interface WorkerRow {
  readonly worker: string
  readonly is_expired: number
  readonly tasks: string | number
}

interface LostRow {
  readonly number: string | number
  readonly address: string
  readonly tool_key: string
  readonly losses: number
  readonly attempts: number
  readonly alone: number
  readonly is_expired: number
}

export class Reclaim {
  readonly #store: TaskStore
  #lookedAt: number
  #patientUntil = 0

  constructor(store: TaskStore) {
    this.#store = store
    this.#lookedAt = store.driver.elapsedMs()
  }

  async run(): Promise<void> {
    const { driver, sql } = this.#store
    const rows = await driver.read<WorkerRow>(
      `SELECT t.worker, max(${this.#isExpired}) AS is_expired, count(*) AS tasks FROM ${sql.tasks} AS t
       WHERE t.worker IS NOT NULL GROUP BY t.worker`,
    )
    const isPatient = this.#isPatient()
    for (const row of rows) {
      const hasExited = driver.hasExited(row.worker)
      if (!hasExited && (row.is_expired === 0 || isPatient)) continue
      const requestedAt = performance.now()
      await driver.transaction(() => this.#reclaimFrom(row, hasExited, requestedAt))
    }
  }

  #isPatient(): boolean {
    const { driver, settings } = this.#store
    const now = driver.elapsedMs()
    if (now - this.#lookedAt > settings.leaseMs * SILENCE_SHARE) this.#patientUntil = now + settings.leaseMs
    this.#lookedAt = now
    return now < this.#patientUntil
  }

  /**
   * SQL: whether a lease has expired. No lease lasts for more than a day, so a later time was written before the clock
   * of the machine was set back.
   */
  get #isExpired(): string {
    const { now } = this.#store.sql
    return `CASE WHEN t.leased_until <= ${now} OR t.leased_until > ${now} + ${2 * DAY_MS} THEN 1 ELSE 0 END`
  }

  *#reclaimFrom({ worker, tasks }: WorkerRow, hasExited: boolean, requestedAt: number): Transaction<void> {
    if (performance.now() - requestedAt > MAX_WAIT_MS) return
    const { sql } = this.#store
    const lost = yield* query<LostRow>(
      `SELECT t.number, t.address, t.tool_key, t.losses, t.attempts, t.alone, ${this.#isExpired} AS is_expired
       FROM ${sql.tasks} AS t WHERE t.worker = $1 ${sql.skipLocked}`,
      [worker],
    )
    if (!hasExited && !lost.some((row) => row.is_expired === 1)) return
    for (const row of lost) yield* this.#release(row, row.alone === 1 || Number(tasks) === 1)
  }

  *#release(row: LostRow, isCharged: boolean): Transaction<void> {
    const { sql, settings } = this.#store
    const number = Number(row.number)
    if (isCharged && row.losses >= settings.maxLosses) {
      yield* failTask(this.#store, number, LOST_TOO_OFTEN)
      yield* emit({ kind: 'changed', task: row.address })
      return
    }
    yield* change(
      `UPDATE ${sql.tasks} SET ${RELEASED}, attempts = attempts + 1, losses = losses + CAST($2 AS integer),
         retry_at = ${sql.now} + CAST($3 AS bigint) WHERE number = CAST($1 AS bigint)`,
      [number, Number(isCharged), retryMs(row.attempts + 1)],
    )
    yield* emit({ kind: 'ready', task: row.address, tool: row.tool_key })
  }
}

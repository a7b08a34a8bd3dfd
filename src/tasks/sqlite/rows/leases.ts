/**
 * Which worker holds which task.
 *
 * A lease is a worker's id and an epoch in the row of a task. The epoch is a fencing token: it grows whenever a task is
 * assigned or released, so a lost lease is never mistaken for a later one.
 */
import { withStoreErrors } from '../../../state/stores/index.ts'
import { MAX_RETRY_MS, retryMs } from '../../trial.ts'
import { CLAIM_COLUMNS, NOT_EXPIRED, READY, type SqliteRow, type SqliteTaskStore } from '../store.ts'

export interface SqliteLeaseKey {
  readonly task: number
  readonly worker: string
  readonly epoch: number
}

/** A task whose worker is lost. */
interface LostTask {
  readonly task: number
  readonly losses: number
  readonly crashes: number
  /** Whether the loss is charged to the task. */
  readonly isCharged: boolean
}

const RELEASED = 'worker = NULL, epoch = epoch + 1, on_trial = 0'

export class LeaseRows {
  readonly #store: SqliteTaskStore
  readonly #statements

  constructor(store: SqliteTaskStore) {
    this.#store = store
    const { database } = store
    this.#statements = withStoreErrors(() => ({
      // A time that is too far away was written before the clock was set back.
      suspect: database.prepare(
        `SELECT ${CLAIM_COLUMNS}, retry_at FROM tasks INDEXED BY tasks_suspect
         WHERE audience = ? AND tool = ? AND ${READY} AND crashes > 0 AND ${NOT_EXPIRED}
           AND (retry_at <= ? OR retry_at > ? + ${MAX_RETRY_MS}) ORDER BY retry_at LIMIT 1`,
      ),
      assign: database.prepare('UPDATE tasks SET worker = ?, epoch = ? WHERE number = ?'),
      isHeld: database.prepare(
        `SELECT 1 FROM tasks WHERE number = ? AND worker = ? AND epoch = ? AND status = 'working' AND ${NOT_EXPIRED}`,
      ),
      held: database.prepare('SELECT number, epoch FROM tasks WHERE worker = :worker'),
      state: database.prepare(`SELECT status FROM tasks WHERE number = ? AND ${NOT_EXPIRED}`),
      release: database.prepare(`UPDATE tasks SET ${RELEASED} WHERE number = :task`),
      nextRound: database.prepare('UPDATE tasks SET round = round + 1 WHERE number = :task'),
      setOnTrial: database.prepare('UPDATE tasks SET on_trial = ? WHERE number = ?'),
      resetLosses: database.prepare('UPDATE tasks SET losses = 0, crashes = 0, on_trial = 0 WHERE number = :task'),
      releaseAll: database.prepare(`UPDATE tasks SET ${RELEASED} WHERE worker = :worker`),
      isExhausted: database.prepare('SELECT 1 FROM tasks WHERE number = :task AND losses >= :maxLosses'),
      releaseAbandoned: database.prepare(
        `UPDATE tasks SET ${RELEASED}, losses = losses + 1, retry_at = 0 WHERE number = :task`,
      ),
      lostBy: database.prepare('SELECT number, losses, crashes, on_trial FROM tasks WHERE worker = :worker'),
      releaseLost: database.prepare(
        `UPDATE tasks SET ${RELEASED}, losses = losses + ?, crashes = crashes + 1, retry_at = ? WHERE number = ?`,
      ),
    }))
  }

  /** The suspect whose pause was over first: see trial.ts. `tools` are names as JSON text. */
  suspect(tools: Iterable<string>): SqliteRow | undefined {
    const { audience } = this.#store
    const now = this.#store.now()
    const rows = Array.from(tools, (tool) => this.#statements.suspect.get(audience, tool, now, now, now))
    return rows
      .filter((row) => row !== undefined)
      .toSorted((one, other) => Number(one['retry_at']) - Number(other['retry_at']))[0]
  }

  assign({ task, worker, epoch }: SqliteLeaseKey): void {
    this.#statements.assign.run(worker, epoch, task)
  }

  isHeld({ task, worker, epoch }: SqliteLeaseKey): boolean {
    return this.#statements.isHeld.get(task, worker, epoch, this.#store.now()) !== undefined
  }

  /** The epochs of the tasks that this worker holds. */
  heldBy(worker: string): Map<number, number> {
    return new Map(this.#statements.held.all({ worker }).map(({ number, epoch }) => [Number(number), Number(epoch)]))
  }

  /** The status of a task; undefined when it has expired. */
  statusOf(task: number): unknown {
    return this.#statements.state.get(task, this.#store.now())?.['status']
  }

  release(task: number): void {
    this.#statements.release.run({ task })
  }

  countRound(task: number): void {
    this.#statements.nextRound.run({ task })
  }

  setOnTrial(task: number, isOnTrial: boolean): void {
    this.#statements.setOnTrial.run(Number(isOnTrial), task)
  }

  /** Called on progress: losses count only in a row. */
  resetLosses(task: number): void {
    this.#statements.resetLosses.run({ task })
  }

  /** Whether this task may lose no more workers. */
  isExhausted(task: number): boolean {
    return this.#statements.isExhausted.get({ task, maxLosses: this.#store.settings.maxLosses }) !== undefined
  }

  /** Releases a task whose run returned without ending its lease. */
  releaseAbandoned(task: number): void {
    this.#statements.releaseAbandoned.run({ task })
  }

  releaseAll(worker: string): void {
    this.#statements.releaseAll.run({ worker })
  }

  /** The tasks of a worker that is dead, and which of them is charged with that. */
  lostBy(worker: string): LostTask[] {
    const rows = this.#statements.lostBy.all({ worker })
    return rows.map(({ number, losses, crashes, on_trial: onTrial }) => ({
      task: Number(number),
      losses: Number(losses),
      crashes: Number(crashes),
      isCharged: onTrial === 1 || rows.length === 1,
    }))
  }

  /** Whether this task has lost too many workers now. */
  isExhaustedBy({ losses, isCharged }: LostTask): boolean {
    return isCharged && losses >= this.#store.settings.maxLosses
  }

  releaseLost({ task, crashes, isCharged }: LostTask): void {
    const retryAt = this.#store.now() + retryMs(crashes + 1)
    this.#statements.releaseLost.run(Number(isCharged), retryAt, task)
  }
}

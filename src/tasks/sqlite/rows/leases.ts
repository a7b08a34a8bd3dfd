/**
 * Which worker holds which task.
 *
 * A lease is a worker's id and an epoch in the row of a task. The epoch is a fencing token: it grows whenever a task is
 * assigned or released, so a lost lease is never mistaken for a later one.
 */
import { withStoreErrors } from '../../../state/stores/index.ts'
import { NOT_EXPIRED, READY, type SqliteRow, type SqliteTaskStore } from '../store.ts'

export interface SqliteLeaseKey {
  readonly task: number
  readonly worker: string
  readonly epoch: number
}

export class LeaseRows {
  readonly #store: SqliteTaskStore
  readonly #statements

  constructor(store: SqliteTaskStore) {
    this.#store = store
    const { database } = store
    this.#statements = withStoreErrors(() => ({
      // Uses the index `tasks_ready`. `+ 0`: with a bare parameter SQLite would plan the statement at each use.
      ready: database.prepare(
        `SELECT number, id, tool, call, round, epoch, losses, expires_at FROM tasks
         WHERE audience = ? AND tool = ? AND ${READY} AND ${NOT_EXPIRED} ORDER BY number LIMIT ? + 0`,
      ),
      assign: database.prepare('UPDATE tasks SET worker = ?, epoch = ? WHERE number = ?'),
      isHeld: database.prepare(
        `SELECT 1 FROM tasks WHERE number = ? AND worker = ? AND epoch = ? AND status = 'working' AND ${NOT_EXPIRED}`,
      ),
      held: database.prepare('SELECT number, epoch FROM tasks WHERE worker = :worker'),
      state: database.prepare(`SELECT status FROM tasks WHERE number = ? AND ${NOT_EXPIRED}`),
      release: database.prepare('UPDATE tasks SET worker = NULL, epoch = epoch + 1 WHERE number = :task'),
      nextRound: database.prepare('UPDATE tasks SET round = round + 1 WHERE number = :task'),
      resetLosses: database.prepare('UPDATE tasks SET losses = 0 WHERE number = :task'),
      releaseAll: database.prepare('UPDATE tasks SET worker = NULL, epoch = epoch + 1 WHERE worker = :worker'),
      isExhausted: database.prepare('SELECT 1 FROM tasks WHERE number = :task AND losses >= :maxLosses'),
      releaseLost: database.prepare(
        'UPDATE tasks SET worker = NULL, epoch = epoch + 1, losses = losses + 1 WHERE number = :task',
      ),
      exhaustedOf: database.prepare('SELECT number FROM tasks WHERE worker = :worker AND losses >= :maxLosses'),
      releaseAllLost: database.prepare(
        'UPDATE tasks SET worker = NULL, epoch = epoch + 1, losses = losses + 1 WHERE worker = :worker',
      ),
    }))
  }

  /** The oldest ready tasks. `tools` are names as JSON text. */
  ready(tools: Iterable<string>, limit: number): SqliteRow[] {
    const { audience, now } = this.#store
    const rows = Array.from(tools, (tool) => this.#statements.ready.all(audience, tool, now(), limit)).flat()
    return rows.toSorted((one, other) => Number(one['number']) - Number(other['number'])).slice(0, limit)
  }

  /** Whether a task is ready; takes no lock. */
  isReady(tools: Iterable<string>): boolean {
    return withStoreErrors(() => this.ready(tools, 1)).length > 0
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

  /** Called on progress: losses count only in a row. */
  resetLosses(task: number): void {
    this.#statements.resetLosses.run({ task })
  }

  /** Whether this task may lose no more workers. */
  isExhausted(task: number): boolean {
    return this.#statements.isExhausted.get({ task, maxLosses: this.#store.settings.maxLosses }) !== undefined
  }

  releaseLost(task: number): void {
    this.#statements.releaseLost.run({ task })
  }

  releaseAll(worker: string): void {
    this.#statements.releaseAll.run({ worker })
  }

  /** The tasks of this worker that may lose no more workers. */
  exhaustedOf(worker: string): number[] {
    const { maxLosses } = this.#store.settings
    return this.#statements.exhaustedOf.all({ worker, maxLosses }).map(({ number }) => Number(number))
  }

  releaseAllLost(worker: string): void {
    this.#statements.releaseAllLost.run({ worker })
  }
}

/**
 * Which worker has which task.
 *
 * A lease is a worker's name and an epoch in the row of a task. The epoch grows whenever a task is taken or leaves its
 * worker, so a lease that was lost is never mistaken for a later one.
 */
import { withStoreErrors } from '../../../state/stores/index.ts'
import { ALIVE, READY, type Row, type Store } from '../store.ts'

export interface LeaseKey {
  readonly task: number
  readonly worker: string
  readonly epoch: number
}

export class LeaseRows {
  readonly #store: Store
  readonly #statements

  constructor(store: Store) {
    this.#store = store
    const { database } = store
    this.#statements = withStoreErrors(() => ({
      // By index: tasks of other tools cost nothing. And a sum, because for a bare parameter SQLite plans each time anew.
      ready: database.prepare(
        `SELECT number, id, tool, call, round, epoch, losses, expires_at FROM tasks
         WHERE audience = ? AND tool = ? AND ${READY} AND ${ALIVE} ORDER BY number LIMIT ? + 0`,
      ),
      take: database.prepare('UPDATE tasks SET worker = ?, epoch = ? WHERE number = ?'),
      isHeld: database.prepare(
        `SELECT 1 FROM tasks WHERE number = ? AND worker = ? AND epoch = ? AND status = 'working' AND ${ALIVE}`,
      ),
      held: database.prepare('SELECT number, epoch FROM tasks WHERE worker = :worker'),
      state: database.prepare(`SELECT status FROM tasks WHERE number = ? AND ${ALIVE}`),
      leave: database.prepare('UPDATE tasks SET worker = NULL, epoch = epoch + 1 WHERE number = :task'),
      goOn: database.prepare('UPDATE tasks SET round = round + 1 WHERE number = :task'),
      progress: database.prepare('UPDATE tasks SET losses = 0 WHERE number = :task'),
      leaveAll: database.prepare('UPDATE tasks SET worker = NULL, epoch = epoch + 1 WHERE worker = :worker'),
      isWorn: database.prepare('SELECT 1 FROM tasks WHERE number = :task AND losses >= :maxLosses'),
      lose: database.prepare(
        'UPDATE tasks SET worker = NULL, epoch = epoch + 1, losses = losses + 1 WHERE number = :task',
      ),
      lostOften: database.prepare('SELECT number FROM tasks WHERE worker = :worker AND losses >= :maxLosses'),
      loseAll: database.prepare(
        'UPDATE tasks SET worker = NULL, epoch = epoch + 1, losses = losses + 1 WHERE worker = :worker',
      ),
    }))
  }

  /** The oldest tasks that are ready, at most so many. `tools` are names as JSON. */
  ready(tools: Iterable<string>, most: number): Row[] {
    const { audience, now } = this.#store
    const rows = Array.from(tools, (tool) => this.#statements.ready.all(audience, tool, now(), most)).flat()
    return rows.toSorted((one, other) => Number(one['number']) - Number(other['number'])).slice(0, most)
  }

  /** Whether there is something to take; costs no lock. */
  isReady(tools: Iterable<string>): boolean {
    return withStoreErrors(() => this.ready(tools, 1)).length > 0
  }

  take({ task, worker, epoch }: LeaseKey): void {
    this.#statements.take.run(worker, epoch, task)
  }

  isHeld({ task, worker, epoch }: LeaseKey): boolean {
    return this.#statements.isHeld.get(task, worker, epoch, this.#store.now()) !== undefined
  }

  /** The epochs of the tasks that this worker has. */
  heldBy(worker: string): Map<number, number> {
    return new Map(this.#statements.held.all({ worker }).map(({ number, epoch }) => [Number(number), Number(epoch)]))
  }

  /** The status of a task, or undefined when its time is over. */
  statusOf(task: number): unknown {
    return this.#statements.state.get(task, this.#store.now())?.['status']
  }

  leave(task: number): void {
    this.#statements.leave.run({ task })
  }

  countRound(task: number): void {
    this.#statements.goOn.run({ task })
  }

  /** It got further, so the workers that it has lost so far are forgotten. */
  progressed(task: number): void {
    this.#statements.progress.run({ task })
  }

  /** Whether this task has lost as many workers as it may. */
  isWorn(task: number): boolean {
    return this.#statements.isWorn.get({ task, maxLosses: this.#store.settings.maxLosses }) !== undefined
  }

  lose(task: number): void {
    this.#statements.lose.run({ task })
  }

  leaveAll(worker: string): void {
    this.#statements.leaveAll.run({ worker })
  }

  /** The tasks of this worker that have lost too many workers with it. */
  lostOften(worker: string): number[] {
    const { maxLosses } = this.#store.settings
    return this.#statements.lostOften.all({ worker, maxLosses }).map(({ number }) => Number(number))
  }

  loseAll(worker: string): void {
    this.#statements.loseAll.run({ worker })
  }
}

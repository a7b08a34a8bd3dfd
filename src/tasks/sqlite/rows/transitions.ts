/** What an owner sees happen to a task. Each is written inside a transaction of its caller, who knows that it is due. */
import { withStoreErrors } from '../../../state/stores/index.ts'
import type { TaskFailure, TaskRecord } from '../../engine.ts'
import type { AskRows } from './questions.ts'
import type { Changes } from './changes.ts'
import { type Store, textOrNull } from '../store.ts'

/** How a task ends, as it will be kept. */
export interface PreparedEnd {
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly statusMessage?: string | undefined
  /** JSON of the result or the failure. */
  readonly outcome: string | null
}

const SEEN = 'updated_at = max(updated_at, ?), change = ?'

export class Transitions {
  readonly #store: Store
  readonly #asks: AskRows
  readonly #changes: Changes
  readonly #statements

  constructor(store: Store, asks: AskRows, changes: Changes) {
    this.#store = store
    this.#asks = asks
    this.#changes = changes
    const { database } = store
    this.#statements = withStoreErrors(() => ({
      turn: database.prepare(`UPDATE tasks SET status = ?, ${SEEN} WHERE number = ?`),
      isNoted: database.prepare('SELECT 1 FROM tasks WHERE number = ? AND message IS ?'),
      note: database.prepare(`UPDATE tasks SET message = ?, ${SEEN} WHERE number = ?`),
      end: database.prepare(
        `UPDATE tasks SET status = ?, message = ?, outcome = ?, worker = NULL, epoch = epoch + 1,
         expires_at = coalesce(expires_at, max(updated_at, ?) + ?), ${SEEN} WHERE number = ?`,
      ),
    }))
  }

  turn(task: number, status: Extract<TaskRecord['status'], 'working' | 'input_required'>): void {
    this.#statements.turn.run(status, this.#store.now(), this.#changes.current(), task)
  }

  note(task: number, message: string): void {
    const text = JSON.stringify(message)
    if (this.#statements.isNoted.get(task, text) !== undefined) return
    this.#statements.note.run(text, this.#store.now(), this.#changes.current(), task)
  }

  /** Of a task that asks nothing at this time. */
  end(task: number, { status, statusMessage, outcome }: PreparedEnd): void {
    const { now, settings } = this.#store
    const [message, time, change] = [textOrNull(statusMessage), now(), this.#changes.current()]
    this.#statements.end.run(status, message, outcome, time, settings.keepMs, time, change, task)
  }

  cancel(task: number): void {
    this.end(task, { status: 'cancelled', outcome: null })
    this.#asks.close(task)
  }

  giveUp(task: number, message: string): void {
    const failure: TaskFailure = { code: -32603, message }
    this.end(task, { status: 'failed', outcome: JSON.stringify(failure) })
    this.#asks.close(task)
  }
}

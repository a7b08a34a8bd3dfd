/** The changes of status that an owner can see. The caller has a transaction open and has checked that they apply. */
import { withStoreErrors } from '../../../state/stores/index.ts'
import { CODES } from '../../../protocol/index.ts'
import type { TaskFailure, TaskProgress, TaskRecord } from '../../engine.ts'
import { progressText, textOrNull } from '../../entry.ts'
import type { QuestionRows } from './questions.ts'
import type { ChangeRows } from './changes.ts'
import type { SqliteTaskStore } from '../store.ts'

/** The end of a task, as it will be stored. */
export interface PreparedEnd {
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly statusMessage?: string | undefined
  /** JSON of the result or the failure. */
  readonly outcome: string | null
}

const TOUCHED = 'updated_at = max(updated_at, ?), change = ?'

export class Transitions {
  readonly #store: SqliteTaskStore
  readonly #questions: QuestionRows
  readonly #changes: ChangeRows
  readonly #statements

  constructor(store: SqliteTaskStore, questions: QuestionRows, changes: ChangeRows) {
    this.#store = store
    this.#questions = questions
    this.#changes = changes
    const { database } = store
    this.#statements = withStoreErrors(() => ({
      setStatus: database.prepare(`UPDATE tasks SET status = ?, ${TOUCHED} WHERE number = ?`),
      isNoted: database.prepare('SELECT 1 FROM tasks WHERE number = ? AND message IS ? AND progress IS ?'),
      note: database.prepare(`UPDATE tasks SET message = ?, progress = ?, ${TOUCHED} WHERE number = ?`),
      end: database.prepare(
        `UPDATE tasks SET status = ?, message = ?, outcome = ?, worker = NULL, epoch = epoch + 1,
         expires_at = coalesce(expires_at, max(updated_at, ?) + ?), ${TOUCHED} WHERE number = ?`,
      ),
    }))
  }

  setStatus(task: number, status: Extract<TaskRecord['status'], 'working' | 'input_required'>): void {
    this.#statements.setStatus.run(status, this.#store.now(), this.#changes.current(), task)
  }

  note(task: number, message: string, progress: TaskProgress | undefined): void {
    const [text, numbers] = [JSON.stringify(message), progressText(progress)]
    if (this.#statements.isNoted.get(task, text, numbers) !== undefined) return
    this.#statements.note.run(text, numbers, this.#store.now(), this.#changes.current(), task)
  }

  /** Ends a task that has no open questions. */
  end(task: number, { status, statusMessage, outcome }: PreparedEnd): void {
    const { now, settings } = this.#store
    const [message, time, change] = [textOrNull(statusMessage), now(), this.#changes.current()]
    this.#statements.end.run(status, message, outcome, time, settings.keepMs, time, change, task)
  }

  cancel(task: number): void {
    this.end(task, { status: 'cancelled', outcome: null })
    this.#questions.close(task)
  }

  fail(task: number, message: string): void {
    const failure: TaskFailure = { code: CODES.INTERNAL_ERROR, message }
    this.end(task, { status: 'failed', outcome: JSON.stringify(failure) })
    this.#questions.close(task)
  }
}

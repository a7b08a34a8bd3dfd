/** Inserts new tasks with the journals of their calls. */
import { withStoreErrors } from '../../../state/stores/index.ts'
import { entryText, unreadable } from '../../entry.ts'
import { refusalOfTask } from '../../fairness.ts'
import type { NewTask, TaskRecord } from '../../engine.ts'
import { type QuestionRow, answeredBefore } from '../../journalRows.ts'
import type { QuestionRows } from './questions.ts'
import type { CallRows, StepRows } from './journal.ts'
import type { ChangeRows } from './changes.ts'
import { NOT_EXPIRED, type SqliteRow, type SqliteTaskStore, UNFINISHED } from '../store.ts'

/** A new task as it will be stored. */
export interface PreparedTask {
  readonly task: NewTask
  readonly args: string
  readonly caller: string
  readonly own: string | null
  readonly steps: readonly (readonly [key: string, value: string | null])[]
  readonly answers: readonly (readonly [question: QuestionRow, response: string])[]
}

/** The tables that a new task has rows in. */
export interface TaskParts {
  readonly questions: QuestionRows
  readonly steps: StepRows
  readonly calls: CallRows
  readonly changes: ChangeRows
}

export class NewTaskRows {
  readonly #store: SqliteTaskStore
  readonly #rows: TaskParts
  readonly #statements

  constructor(store: SqliteTaskStore, rows: TaskParts) {
    this.#store = store
    this.#rows = rows
    const { database } = store
    this.#statements = withStoreErrors(() => ({
      createdBy: database.prepare('SELECT number FROM tasks WHERE audience = ? AND owner = ? AND call = ?'),
      removeExpired: database.prepare(
        `DELETE FROM tasks WHERE audience = ? AND owner = ? AND call = ? AND NOT ${NOT_EXPIRED}`,
      ),
      add: database.prepare(
        `INSERT INTO tasks (audience, owner, holder, member, call, id, tool, status, round, created_at, updated_at,
                            expires_at, change, epoch, losses)
         VALUES (?, ?, ?, ?, ?, ?, ?, 'working', ?, ?, ?, ?, ?, 0, 0) ON CONFLICT DO NOTHING`,
      ),
      unfinished: database.prepare(
        `SELECT count(*) AS unfinished FROM tasks WHERE audience = ? AND holder = ? AND ${UNFINISHED}`,
      ),
      unfinishedOfMember: database.prepare(
        `SELECT count(*) AS unfinished FROM tasks WHERE audience = ? AND member = ? AND ${UNFINISHED}`,
      ),
    }))
  }

  prepare(task: NewTask): PreparedTask {
    const { maxEntryBytes } = this.#store.settings
    const text = (what: string, value: unknown) => entryText(what, value, maxEntryBytes)
    const { own, steps } = task.journal
    return {
      task,
      args: text('The arguments', task.args),
      caller: text('The caller', task.caller),
      own: own === undefined ? null : text('The state of a handler', own),
      steps: Array.from(steps, ([key, result]) => [key, this.#rows.steps.textOf(key, result)] as const),
      answers: answeredBefore(task.journal).map(
        (question) => [question, text('An answer', question.response)] as const,
      ),
    }
  }

  /** Gives the new task, or undefined when its call has created one before. */
  add(prepared: PreparedTask): TaskRecord | undefined {
    const { id, tool, ttlMs, journal } = prepared.task
    const now = this.#store.now()
    const expiresAt = ttlMs === null ? null : Math.min(now + Math.ceil(ttlMs), Number.MAX_SAFE_INTEGER)
    const number = this.#addRow(prepared.task, now, expiresAt)
    if (number === undefined) return undefined
    this.#rows.calls.add(number, { ...prepared, begunAt: journal.begunAt })
    for (const [key, value] of prepared.steps) this.#rows.steps.add(number, key, value)
    for (const [question, response] of prepared.answers) this.#rows.questions.addAnswered(number, question, response)
    return {
      id,
      tool,
      status: 'working',
      statusMessage: undefined,
      progress: undefined,
      createdAt: now,
      updatedAt: now,
      ttlMs: expiresAt === null ? null : expiresAt - now,
      questions: new Map(),
      approvers: new Map(),
      result: undefined,
      failure: undefined,
    }
  }

  /** The same when that earlier task has expired. */
  replaceExpired(prepared: PreparedTask): TaskRecord | undefined {
    const { audience, now } = this.#store
    const { owner, journal } = prepared.task
    const { changes } = this.#statements.removeExpired.run(
      audience,
      JSON.stringify(owner),
      JSON.stringify(journal.id),
      now(),
    )
    return changes === 0 ? undefined : this.add(prepared)
  }

  /** The number of the task that this call has created. */
  createdBy(task: NewTask): number {
    const row = this.#rowOf(task)
    if (row === undefined) throw unreadable()
    return Number(row['number'])
  }

  /** Refuses a new task of a caller who has too many; not the call that has created one before. */
  assertAllowed(task: NewTask): void {
    const { audience, settings } = this.#store
    const { unfinished, unfinishedOfMember } = this.#statements
    const { holder, member } = task
    const ofHolder = countOf(unfinished.get(audience, JSON.stringify(holder)))
    const ofMember =
      member === undefined ? undefined : countOf(unfinishedOfMember.get(audience, JSON.stringify(member)))
    const refusal = refusalOfTask({ ofHolder, ofMember }, settings.maxTasksPerCaller)
    if (refusal !== undefined && this.#rowOf(task) === undefined) throw refusal
  }

  #rowOf({ owner, journal }: NewTask): SqliteRow | undefined {
    const { audience } = this.#store
    return this.#statements.createdBy.get(audience, JSON.stringify(owner), JSON.stringify(journal.id))
  }

  #addRow(
    { id, owner, holder, member, tool, journal }: NewTask,
    now: number,
    expiresAt: number | null,
  ): number | undefined {
    const { changes, lastInsertRowid } = this.#statements.add.run(
      this.#store.audience,
      JSON.stringify(owner),
      JSON.stringify(holder),
      member === undefined ? null : JSON.stringify(member),
      JSON.stringify(journal.id),
      JSON.stringify(id),
      JSON.stringify(tool),
      journal.round,
      now,
      now,
      expiresAt,
      this.#rows.changes.current(),
    )
    return changes === 1 ? Number(lastInsertRowid) : undefined
  }
}

function countOf(row: SqliteRow | undefined): number {
  return Number(row?.['unfinished'])
}

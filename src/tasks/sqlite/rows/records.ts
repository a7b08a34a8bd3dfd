/** Tasks as their owners see them. */
import { isObject } from '../../../protocol/index.ts'
import { StateError } from '../../../state/internal.ts'
import { withStoreErrors } from '../../../state/stores/index.ts'
import { readEntry, readObject, readProgress, readString, unreadable } from '../../entry.ts'
import { PAGE_BYTES, type Page, type TaskFailure, type TaskRecord } from '../../engine.ts'
import { cursorUnknown } from '../../errors.ts'
import type { QuestionRows } from './questions.ts'
import { NOT_EXPIRED, type SqliteRow, type SqliteTaskStore } from '../store.ts'

// No task has this number. Reading its questions takes as long as for any other task.
const NO_TASK = 0

const STATUSES = ['working', 'input_required', 'completed', 'failed', 'cancelled'] as const
const COLUMNS = 'number, id, tool, status, message, progress, created_at, updated_at, expires_at, outcome'

export class RecordRows {
  readonly #store: SqliteTaskStore
  readonly #questions: QuestionRows
  readonly #statements

  constructor(store: SqliteTaskStore, questionRows: QuestionRows) {
    this.#store = store
    this.#questions = questionRows
    const { database } = store
    this.#statements = withStoreErrors(() => ({
      find: database.prepare(
        `SELECT ${COLUMNS} FROM tasks WHERE audience = ? AND id = ? AND owner = ? AND ${NOT_EXPIRED}`,
      ),
      awaiting: database.prepare(
        `SELECT ${COLUMNS} FROM tasks WHERE audience = ? AND id = ? AND status = 'input_required' AND ${NOT_EXPIRED}
         AND EXISTS (SELECT 1 FROM asks WHERE task = number AND state = 'open' AND approvers IS NOT NULL)`,
      ),
      get: database.prepare(`SELECT ${COLUMNS} FROM tasks WHERE number = ?`),
      // Also finds expired tasks: their rows still work as cursors.
      position: database.prepare('SELECT number FROM tasks WHERE audience = ? AND id = ? AND owner = ?'),
      exists: database.prepare(`SELECT 1 FROM tasks WHERE audience = ? AND id = ? AND owner = ? AND ${NOT_EXPIRED}`),
      list: database.prepare(
        `SELECT ${COLUMNS} FROM tasks WHERE audience = ? AND owner = ? AND number < ? AND ${NOT_EXPIRED}
         ORDER BY number DESC LIMIT ?`,
      ),
    }))
  }

  /** Runs the same statements for every id and owner, so that timing reveals nothing. */
  read(id: string, owner: string): TaskRecord | undefined {
    const row = this.#row(id, owner)
    const questions = withStoreErrors(() => this.#questions.open(Number(row?.['number'] ?? NO_TASK)))
    return row && recordOf(row, questions)
  }

  /** A task of any owner that waits for somebody else. */
  awaiting(id: string): TaskRecord | undefined {
    const row = this.#awaitingRow(id)
    return row && { ...this.get(Number(row['number'])), statusMessage: undefined, progress: undefined }
  }

  /** Those of the tasks that the owner has. */
  existing(ids: readonly string[], owner: string): string[] {
    const { audience, now } = this.#store
    const { exists } = this.#statements
    const name = JSON.stringify(owner)
    return withStoreErrors(() =>
      ids.filter((id) => exists.get(audience, JSON.stringify(id), name, now()) !== undefined),
    )
  }

  /** A task by its number, also when it has expired during the write. */
  get(task: number): TaskRecord {
    const row = this.#statements.get.get(task)
    if (row === undefined) throw unreadable()
    return recordOf(row, this.#questions.open(task))
  }

  /** Without an owner, only a task that waits for somebody else is found. */
  numberOf(id: string, owner: string | undefined): number | undefined {
    const row = owner === undefined ? this.#awaitingRow(id) : this.#row(id, owner)
    return row && Number(row['number'])
  }

  list(owner: string, after: string | undefined, limit: number): Page {
    const { audience, now } = this.#store
    const before = after === undefined ? Number.MAX_SAFE_INTEGER : this.#positionOf(after, owner)
    const { list } = this.#statements
    const { rows, isLast } = withStoreErrors(() =>
      fillPage(list.iterate(audience, JSON.stringify(owner), before, now(), limit + 1), limit),
    )
    return { tasks: rows.flatMap((row) => this.#recordOrNone(row)), next: isLast ? undefined : lastId(rows) }
  }

  #awaitingRow(id: string): SqliteRow | undefined {
    const { audience, now } = this.#store
    return withStoreErrors(() => this.#statements.awaiting.get(audience, JSON.stringify(id), now()))
  }

  #row(id: string, owner: string): SqliteRow | undefined {
    const { audience, now } = this.#store
    return withStoreErrors(() => this.#statements.find.get(audience, JSON.stringify(id), JSON.stringify(owner), now()))
  }

  #positionOf(id: string, owner: string): number {
    const { audience } = this.#store
    const row = withStoreErrors(() =>
      this.#statements.position.get(audience, JSON.stringify(id), JSON.stringify(owner)),
    )
    if (row === undefined) throw cursorUnknown()
    return Number(row['number'])
  }

  /** A task with damaged rows is left out of a list. */
  #recordOrNone(row: SqliteRow): TaskRecord[] {
    try {
      return [
        recordOf(
          row,
          withStoreErrors(() => this.#questions.open(Number(row['number']))),
        ),
      ]
    } catch (error) {
      if (!(error instanceof StateError) || error.code !== 'STORE_CORRUPT') throw error
      this.#store
        .logger()
        .error({ task: row['id'] }, 'The stored data of a task is damaged; the task is left out of a list.')
      return []
    }
  }
}

/** The rows of one page: at most `limit`, and fewer if their results exceed PAGE_BYTES. */
function fillPage(found: Iterable<SqliteRow>, limit: number): { rows: SqliteRow[]; isLast: boolean } {
  const rows: SqliteRow[] = []
  let size = 0
  for (const row of found) {
    if (rows.length === limit || size > PAGE_BYTES) return { rows, isLast: false }
    rows.push(row)
    size += typeof row['outcome'] === 'string' ? row['outcome'].length : 0
  }
  return { rows, isLast: true }
}

/** The last id that can be read, as the cursor of the next page. */
function lastId(rows: readonly SqliteRow[]): string | undefined {
  return rows.map(({ id }) => idIn(id)).findLast((id) => id !== undefined)
}

function idIn(text: unknown): string | undefined {
  try {
    return readString(text)
  } catch {
    return undefined
  }
}

function recordOf(row: SqliteRow, open: Pick<TaskRecord, 'questions' | 'approvers'>): TaskRecord {
  const { message, outcome, created_at: createdAt, expires_at: expiresAt } = row
  const status = STATUSES.find((known) => known === row['status'])
  if (status === undefined) throw unreadable()
  return {
    id: readString(row['id']),
    tool: readString(row['tool']),
    status,
    statusMessage: message === null ? undefined : readString(message),
    progress: readProgress(row['progress']),
    createdAt: Number(createdAt),
    updatedAt: Number(row['updated_at']),
    ttlMs: expiresAt === null ? null : Number(expiresAt) - Number(createdAt),
    ...open,
    result: status === 'completed' ? readObject(outcome) : undefined,
    failure: status === 'failed' ? readFailure(outcome) : undefined,
  }
}

function readFailure(text: unknown): TaskFailure {
  const failure = readEntry(text)
  if (!isObject(failure)) throw unreadable()
  const { code, message, data } = failure
  if (typeof code !== 'number' || typeof message !== 'string') throw unreadable()
  return data === undefined ? { code, message } : { code, message, data }
}

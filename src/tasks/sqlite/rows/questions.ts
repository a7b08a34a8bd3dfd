/**
 * The questions of tasks.
 *
 * A row is open until it is answered, refused (and asked again in a new row) or closed with its task. The request is
 * removed when the row is no longer open; the row with its key stays as long as the task.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { withStoreErrors } from '../../../state/stores/index.ts'
import {
  approversText,
  entryText,
  type QuestionText,
  readApprovers,
  readObject,
  readString,
  textOrNull,
} from '../../entry.ts'
import type { NewQuestion, TaskAnswers, TaskRecord } from '../../engine.ts'
import { type QuestionRow, MAX_AUTOMATIC_REPEATS, nextWireKey } from '../../journalRows.ts'
import type { SqliteRow, SqliteTaskStore } from '../store.ts'

export class QuestionRows {
  readonly #store: SqliteTaskStore
  readonly #statements

  constructor(store: SqliteTaskStore) {
    this.#store = store
    const { database } = store
    this.#statements = withStoreErrors(() => ({
      open: database.prepare(
        `SELECT wire_key, key, question, times, request, approvers FROM asks WHERE task = ? AND state = 'open' ORDER BY rowid`,
      ),
      ofTask: database.prepare(
        'SELECT key, question, times, response, answered_by FROM asks WHERE task = ? ORDER BY rowid',
      ),
      count: database.prepare('SELECT count(*) AS asked FROM asks WHERE task = :task AND key = :key'),
      isTaken: database.prepare('SELECT 1 FROM asks WHERE task = :task AND wire_key = :wireKey'),
      add: database.prepare(
        `INSERT INTO asks (task, wire_key, key, question, times, state, request, response, approvers, answered_by)
         VALUES (:task, :wireKey, :key, :question, :times, :state, :request, :response, :approvers, :by)`,
      ),
      settle: database.prepare(
        `UPDATE asks SET state = :state, request = NULL, response = :response, answered_by = :by
         WHERE task = :task AND wire_key = :wireKey`,
      ),
      close: database.prepare(`UPDATE asks SET state = 'closed', request = NULL WHERE task = ? AND state = 'open'`),
    }))
  }

  /** The open questions by their keys on the wire, and who may answer those that are not for the owner. */
  open(task: number): Pick<TaskRecord, 'questions' | 'approvers'> {
    const rows = this.#statements.open.all(task).map((row) => ({ row, wireKey: readString(row['wire_key']) }))
    const named = rows.flatMap(({ row, wireKey }) => {
      const text = textOf(row['approvers'])
      return text === null ? [] : [[wireKey, readApprovers(text)] as const]
    })
    return { questions: new Map(rows.map(({ row, wireKey }) => [wireKey, requestOf(row)])), approvers: new Map(named) }
  }

  /** All questions so far, the oldest first. */
  ofTask(task: number): QuestionRow[] {
    return this.#statements.ofTask.all(task).map((row) => ({
      key: readString(row['key']),
      question: row['question'] === null ? undefined : readString(row['question']),
      times: Number(row['times']),
      response: row['response'] === null ? undefined : readObject(row['response']),
      by: row['answered_by'] === null ? undefined : readString(row['answered_by']),
    }))
  }

  /** The questions as they will be stored; throws if one is too large. */
  prepare(questions: readonly NewQuestion[]): readonly PreparedQuestion[] {
    return questions.map(({ request, ...question }) => {
      return { ...question, request: entryText('A question', request, this.#store.settings.maxEntryBytes) }
    })
  }

  ask(task: number, questions: readonly PreparedQuestion[]): void {
    for (const { key, question, times, request, approvers } of questions) {
      const named = approversText(approvers)
      this.#add(task, { key: JSON.stringify(key), question: textOrNull(question), times, request, approvers: named })
    }
  }

  /** Adds a question that was answered before the call became a task. */
  addAnswered(task: number, { key, question, times, by }: QuestionRow, response: string): void {
    const text = JSON.stringify(key)
    const row = { task, wireKey: text, key: text, question: textOrNull(question), times }
    const answer = { state: 'answered', request: null, response, approvers: null, by: textOrNull(by) }
    this.#statements.add.run({ ...row, ...answer })
  }

  /**
   * Gives the number of questions that are still open, or undefined when nothing has changed. Whoever is not the owner
   * can answer only questions that name their approvers.
   */
  answer(task: number, { accepted, refused, by }: TaskAnswers, isOwner: boolean): number | undefined {
    const all = this.#statements.open.all(task).map((row) => ({ row, wireKey: readString(row['wire_key']) }))
    const open = isOwner ? all : all.filter(({ row }) => row['approvers'] !== null)
    const answered = open.flatMap(({ wireKey }) => {
      const response = accepted.get(wireKey)
      if (response === undefined) return []
      return [{ wireKey, response: entryText('An answer', response, this.#store.settings.maxEntryBytes) }]
    })
    const unanswered = open.filter(({ wireKey }) => refused.has(wireKey) && !accepted.has(wireKey))
    if (answered.length + unanswered.length === 0) return undefined
    for (const { wireKey, response } of answered) this.#settle(task, wireKey, 'answered', response, textOrNull(by))
    for (const { wireKey } of unanswered) this.#settle(task, wireKey, 'refused', null)
    const askedAgain = unanswered.filter(({ row }) => Number(row['times']) < MAX_AUTOMATIC_REPEATS)
    for (const { row } of askedAgain) {
      const { key, question, times, request, approvers } = row
      this.#add(task, {
        key: String(key),
        question: textOf(question),
        times: Number(times) + 1,
        request: String(request),
        approvers: textOf(approvers),
      })
    }
    return all.length - answered.length - unanswered.length + askedAgain.length
  }

  close(task: number): void {
    this.#statements.close.run(task)
  }

  #settle(task: number, wireKey: string, state: string, response: string | null, by: string | null = null): void {
    this.#statements.settle.run({ task, wireKey: JSON.stringify(wireKey), state, response, by })
  }

  /** The texts are JSON, as in the table. */
  #add(task: number, question: QuestionText): void {
    const { count, isTaken, add } = this.#statements
    const asked = Number(count.get({ task, key: question.key })?.['asked'])
    const wireKey = nextWireKey(readString(question.key), asked, (candidate) => {
      return isTaken.get({ task, wireKey: JSON.stringify(candidate) }) !== undefined
    })
    add.run({ ...question, task, wireKey: JSON.stringify(wireKey), state: 'open', response: null, by: null })
  }
}

/** A question with its request as JSON text. */
export type PreparedQuestion = Omit<NewQuestion, 'request'> & { readonly request: string }

function requestOf(row: SqliteRow): InputRequest {
  // Sound: only `prepare` writes this column.
  return readObject(row['request']) as unknown as InputRequest
}

function textOf(value: SqliteRow[string] | undefined): string | null {
  return typeof value === 'string' ? value : null
}

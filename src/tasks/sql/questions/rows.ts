/**
 * The questions of tasks.
 *
 * A row is open until it is answered, refused (and asked again in a new row), expired, or withdrawn with its task. It
 * stays as long as the task. While a row with approvers is open, each name in their `by` is an addressee of it.
 */
import type { NewQuestion, TaskAnswers } from '../../engine.ts'
import {
  answererText,
  approversText,
  entryText,
  type QuestionText,
  readApprovers,
  readString,
  textOrNull,
} from '../../entry.ts'
import { MAX_AUTOMATIC_REPEATS, nextWireKey, type QuestionRow } from '../../journalRows.ts'
import { change, query, type Transaction } from '../driver.ts'
import { addNotices } from './notices.ts'
import { keyOf, type TaskStore } from '../store.ts'

interface OpenRow extends QuestionText {
  readonly wire_key: string
  readonly place: string | number
  readonly is_over: number
}

const COLUMNS =
  'task, wire_key, key, question, times, state, request, response, approvers, answered_by, asked_at, expires_at'

/** The questions as they will be stored; throws if one is too large. */
export function questionTexts({ settings }: TaskStore, questions: readonly NewQuestion[]): readonly QuestionText[] {
  return questions.map(({ key, question, times, request, approvers }) => ({
    key: JSON.stringify(key),
    question: textOrNull(question),
    times,
    request: entryText('A question', request, settings.maxEntryBytes),
    approvers: approversText(approvers),
  }))
}

/** Asks the owner, each question under a key that this task has not used on the wire. */
export function* askQuestions(store: TaskStore, task: number, questions: readonly QuestionText[]): Transaction<void> {
  const { sql } = store
  if (questions.length === 0) return
  const known = yield* query<{ wire_key: string; key: string }>(
    `SELECT wire_key, key FROM ${sql.questions} WHERE task = CAST($1 AS bigint)`,
    [task],
  )
  const taken = new Set(known.map(({ wire_key: wireKey }) => wireKey))
  const keys = known.map(({ key }) => key)
  const expiry = `${sql.now} + (SELECT c.answer_ms FROM ${sql.calls} AS c WHERE c.task = $1)`
  for (const { key, question, times, request, approvers } of questions) {
    const asked = keys.filter((other) => other === key).length
    const wireKey = JSON.stringify(nextWireKey(readString(key), asked, (wire) => taken.has(JSON.stringify(wire))))
    taken.add(wireKey)
    keys.push(key)
    const insert = `INSERT INTO ${sql.questions} (${COLUMNS})
      VALUES ($1, $2, $3, $4, $5, 'open', $6, NULL, $7, NULL, ${sql.now}, ${expiry})`
    const values = [task, wireKey, key, question, times, request, approvers]
    if (approvers === null && store.channels.length === 0) yield* change(insert, values)
    else {
      const [row] = yield* query<{ place: string | number }>(`${insert} RETURNING place`, values)
      const place = Number(row?.place)
      if (approvers !== null) yield* address(store, place, approvers)
      yield* addNotices(store, place)
    }
  }
}

function* address(store: TaskStore, place: number, approvers: string): Transaction<void> {
  for (const name of new Set(readApprovers(approvers).by)) {
    yield* change(`INSERT INTO ${store.sql.addressees} (name, place) VALUES ($1, CAST($2 AS bigint))`, [
      keyOf(store, name),
      place,
    ])
  }
}

/** Adds a question that was answered before the call became a task. */
export function* addAnswered(
  { sql, settings }: TaskStore,
  task: number,
  { key, question, times, by }: QuestionRow,
  response: string,
): Transaction<void> {
  const text = JSON.stringify(key)
  yield* change(
    `INSERT INTO ${sql.questions} (${COLUMNS})
     VALUES ($1, $2, $3, $4, $5, 'answered', NULL, $6, NULL, $7, ${sql.now}, NULL)`,
    [task, text, text, textOrNull(question), times, response, answererText(by, settings.maxEntryBytes)],
  )
}

/**
 * Returns the number of questions that are still open, or undefined if nothing has changed. Only the owner can answer
 * questions that do not name their approvers. A question whose time is over cannot be answered.
 */
export function* answerQuestions(
  store: TaskStore,
  task: number,
  { accepted, refused, by, way, isOwner }: TaskAnswers & { readonly isOwner: boolean },
): Transaction<number | undefined> {
  const all = yield* query<OpenRow>(
    `SELECT wire_key, place, key, question, times, request, approvers,
       CASE WHEN expires_at <= ${store.sql.now} THEN 1 ELSE 0 END AS is_over FROM ${store.sql.questions}
     WHERE task = CAST($1 AS bigint) AND state = 'open' ORDER BY place`,
    [task],
  )
  const open = all
    .filter(({ approvers, is_over: isOver }) => isOver === 0 && (isOwner || approvers !== null))
    .map((row) => ({ row, wireKey: readString(row.wire_key) }))
  const answered = open.flatMap(({ row, wireKey }) => {
    const response = accepted.get(wireKey)
    return response === undefined
      ? []
      : [{ row, response: entryText('An answer', response, store.settings.maxEntryBytes) }]
  })
  const unanswered = open.filter(({ wireKey }) => refused.has(wireKey) && !accepted.has(wireKey)).map(({ row }) => row)
  if (answered.length + unanswered.length === 0) return undefined
  const giver = answererText(by, store.settings.maxEntryBytes)
  for (const { row, response } of answered) {
    yield* settle(store, task, row, { state: 'answered', response, giver, way: way ?? null })
  }
  for (const row of unanswered) {
    yield* settle(store, task, row, { state: 'refused', response: null, giver: null, way: null })
  }
  const askedAgain = unanswered.filter(({ times }) => times < MAX_AUTOMATIC_REPEATS)
  yield* askQuestions(
    store,
    task,
    askedAgain.map((row) => ({ ...row, times: row.times + 1 })),
  )
  return all.length - answered.length - unanswered.length + askedAgain.length
}

/** Closes the questions of a task that has ended. */
export function* closeQuestions({ sql }: TaskStore, task: number): Transaction<void> {
  yield* change(
    `DELETE FROM ${sql.addressees} WHERE place IN (
       SELECT place FROM ${sql.questions} WHERE task = CAST($1 AS bigint) AND state = 'open' AND approvers IS NOT NULL)`,
    [task],
  )
  yield* change(
    `UPDATE ${sql.questions} SET closed_at = ${sql.now},
       state = CASE WHEN expires_at <= ${sql.now} THEN 'expired' ELSE 'withdrawn' END
     WHERE task = CAST($1 AS bigint) AND state = 'open'`,
    [task],
  )
}

interface Settlement {
  readonly state: 'answered' | 'refused'
  readonly response: string | null
  readonly giver: string | null
  readonly way: string | null
}

function* settle(
  { sql }: TaskStore,
  task: number,
  { wire_key: wireKey, place, approvers }: OpenRow,
  { state, response, giver, way }: Settlement,
): Transaction<void> {
  if (approvers !== null)
    yield* change(`DELETE FROM ${sql.addressees} WHERE place = CAST($1 AS bigint)`, [Number(place)])
  yield* change(
    `UPDATE ${sql.questions} SET state = $3, response = $4, answered_by = $5, way = $6,
       closed_at = ${sql.now}
     WHERE task = CAST($1 AS bigint) AND wire_key = $2`,
    [task, wireKey, state, response, giver, way],
  )
}

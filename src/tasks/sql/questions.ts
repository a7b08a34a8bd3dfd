/**
 * The questions of tasks.
 *
 * A row is open until it is answered, refused (and asked again in a new row) or closed with its task. The request is
 * removed when the row is no longer open; the row with its key stays as long as the task. While a row with approvers is
 * open, each name in their `by` is an addressee of it.
 */
import type { NewQuestion, TaskAnswers } from '../engine.ts'
import { approversText, entryText, type QuestionText, readApprovers, readString, textOrNull } from '../entry.ts'
import { MAX_AUTOMATIC_REPEATS, nextWireKey, type QuestionRow } from '../journalRows.ts'
import { change, query, type Transaction } from './driver.ts'
import { keyOf, type TaskStore } from './store.ts'

interface OpenRow extends QuestionText {
  readonly wire_key: string
  readonly place: string | number
}

const COLUMNS = 'task, wire_key, key, question, times, state, request, response, approvers, answered_by, asked_at'

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
  for (const { key, question, times, request, approvers } of questions) {
    const asked = keys.filter((other) => other === key).length
    const wireKey = JSON.stringify(nextWireKey(readString(key), asked, (wire) => taken.has(JSON.stringify(wire))))
    taken.add(wireKey)
    keys.push(key)
    const insert = `INSERT INTO ${sql.questions} (${COLUMNS})
      VALUES ($1, $2, $3, $4, $5, 'open', $6, NULL, $7, NULL, ${sql.now})`
    const values = [task, wireKey, key, question, times, request, approvers]
    if (approvers === null) yield* change(insert, values)
    else yield* address(store, yield* query<{ place: string | number }>(`${insert} RETURNING place`, values), approvers)
  }
}

function* address(
  store: TaskStore,
  [row]: readonly { readonly place: string | number }[],
  approvers: string,
): Transaction<void> {
  for (const name of new Set(readApprovers(approvers).by)) {
    yield* change(`INSERT INTO ${store.sql.addressees} (name, place) VALUES ($1, CAST($2 AS bigint))`, [
      keyOf(store, name),
      Number(row?.place),
    ])
  }
}

/** Adds a question that was answered before the call became a task. */
export function* addAnswered(
  { sql }: TaskStore,
  task: number,
  { key, question, times, by }: QuestionRow,
  response: string,
): Transaction<void> {
  const text = JSON.stringify(key)
  yield* change(
    `INSERT INTO ${sql.questions} (${COLUMNS})
     VALUES ($1, $2, $3, $4, $5, 'answered', NULL, $6, NULL, $7, ${sql.now})`,
    [task, text, text, textOrNull(question), times, response, textOrNull(by)],
  )
}

/**
 * Returns the number of questions that are still open, or undefined if nothing has changed. Only the owner can answer
 * questions that do not name their approvers.
 */
export function* answerQuestions(
  store: TaskStore,
  task: number,
  { accepted, refused, by, isOwner }: TaskAnswers & { readonly isOwner: boolean },
): Transaction<number | undefined> {
  const all = yield* query<OpenRow>(
    `SELECT wire_key, place, key, question, times, request, approvers FROM ${store.sql.questions}
     WHERE task = CAST($1 AS bigint) AND state = 'open' ORDER BY place`,
    [task],
  )
  const open = all
    .filter(({ approvers }) => isOwner || approvers !== null)
    .map((row) => ({ row, wireKey: readString(row.wire_key) }))
  const answered = open.flatMap(({ row, wireKey }) => {
    const response = accepted.get(wireKey)
    return response === undefined
      ? []
      : [{ row, response: entryText('An answer', response, store.settings.maxEntryBytes) }]
  })
  const unanswered = open.filter(({ wireKey }) => refused.has(wireKey) && !accepted.has(wireKey)).map(({ row }) => row)
  if (answered.length + unanswered.length === 0) return undefined
  for (const { row, response } of answered) yield* settle(store, task, row, 'answered', response, textOrNull(by))
  for (const row of unanswered) yield* settle(store, task, row, 'refused', null, null)
  const askedAgain = unanswered.filter(({ times }) => times < MAX_AUTOMATIC_REPEATS)
  yield* askQuestions(
    store,
    task,
    askedAgain.map((row) => ({ ...row, times: row.times + 1 })),
  )
  return all.length - answered.length - unanswered.length + askedAgain.length
}

/** Removes the requests of a task that has ended. */
export function* closeQuestions({ sql }: TaskStore, task: number): Transaction<void> {
  yield* change(
    `DELETE FROM ${sql.addressees} WHERE place IN (
       SELECT place FROM ${sql.questions} WHERE task = CAST($1 AS bigint) AND state = 'open' AND approvers IS NOT NULL)`,
    [task],
  )
  yield* change(
    `UPDATE ${sql.questions} SET state = 'closed', request = NULL WHERE task = CAST($1 AS bigint) AND state = 'open'`,
    [task],
  )
}

function* settle(
  { sql }: TaskStore,
  task: number,
  { wire_key: wireKey, place, approvers }: OpenRow,
  state: 'answered' | 'refused',
  response: string | null,
  by: string | null,
): Transaction<void> {
  if (approvers !== null)
    yield* change(`DELETE FROM ${sql.addressees} WHERE place = CAST($1 AS bigint)`, [Number(place)])
  yield* change(
    `UPDATE ${sql.questions} SET state = $3, request = NULL, response = $4, answered_by = $5
     WHERE task = CAST($1 AS bigint) AND wire_key = $2`,
    [task, wireKey, state, response, by],
  )
}

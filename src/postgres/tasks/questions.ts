/** Asks the owner of a task, and stores the answers. */
import {
  type TaskAnswers,
  entryText,
  MAX_AUTOMATIC_REPEATS,
  nextWireKey,
  type QuestionText,
  readString,
  textOrNull,
} from '../../tasks/internal.ts'
import type { Sql } from '../sql.ts'
import { readTask } from './records.ts'
import { type PostgresTaskStore, type TaskRef, transaction } from './store.ts'
import { lockTask, type TaskChange } from './transitions.ts'

interface OpenRow extends QuestionText {
  readonly wire_key: string
}

/**
 * Stores answers in one transaction. Partial answers are kept; the last one makes the task ready. Whoever is not the owner
 * can answer only questions that name their approvers.
 */
export function answerTask(
  store: PostgresTaskStore,
  ref: TaskRef,
  answers: TaskAnswers,
  isOwner: boolean,
): Promise<TaskChange | undefined> {
  return transaction(store, async (sql) => {
    const row = await lockTask(sql, store, ref)
    if (row === undefined) return undefined
    const left =
      row.status === 'input_required' ? await settleQuestions(sql, store, row.task, { ...answers, isOwner }) : undefined
    const queue = left === 0 ? row.queue : undefined
    if (left !== undefined) await updateTask(sql, store, row.task, left === 0)
    const task = await readTask(sql, store, ref)
    return task && { task, isChanged: left !== undefined, queue }
  })
}

/** Gives the number of questions that are still open, or undefined when nothing has changed. */
async function settleQuestions(
  sql: Sql,
  store: PostgresTaskStore,
  task: string,
  { accepted, refused, by, isOwner }: TaskAnswers & { readonly isOwner: boolean },
) {
  const { tables } = store.database.names
  const all = await sql.rows<OpenRow>(
    `SELECT wire_key, key, question, times, request, approvers FROM ${tables}.questions
     WHERE task = $1 AND state = 'open' ORDER BY place`,
    [task],
  )
  const open = isOwner ? all : all.filter(({ approvers }) => approvers !== null)
  const answered = open.flatMap(({ wire_key: wireKey }) => {
    const response = accepted.get(readString(wireKey))
    return response === undefined ? [] : [[wireKey, entryText('An answer', response, store.settings.maxEntryBytes)]]
  })
  const answeredKeys = new Set(answered.map(([wireKey]) => wireKey))
  const unanswered = open.filter(({ wire_key: key }) => !answeredKeys.has(key) && refused.has(readString(key)))
  if (answered.length + unanswered.length === 0) return undefined
  await sql.rows(
    `UPDATE ${tables}.questions AS q SET request = NULL, response = given.response,
       answered_by = CASE WHEN given.response IS NULL THEN NULL ELSE $4::text END,
       state = CASE WHEN given.response IS NULL THEN 'refused' ELSE 'answered' END
     FROM unnest($2::text[], $3::text[]) AS given (wire_key, response)
     WHERE q.task = $1 AND q.wire_key = given.wire_key`,
    [
      task,
      [...answeredKeys, ...unanswered.map(({ wire_key: wireKey }) => wireKey)],
      [...answered.map(([, response]) => response), ...unanswered.map(() => null)],
      textOrNull(by),
    ],
  )
  const askedAgain = unanswered.filter(({ times }) => times < MAX_AUTOMATIC_REPEATS)
  await insertQuestions(
    sql,
    store,
    task,
    askedAgain.map((question) => ({ ...question, times: question.times + 1 })),
  )
  return all.length - answered.length - unanswered.length + askedAgain.length
}

/** Marks the task as changed, and as ready where no question is open. */
async function updateTask(sql: Sql, { database }: PostgresTaskStore, task: string, isReady: boolean): Promise<void> {
  await sql.rows(
    `UPDATE ${database.names.tables}.tasks SET version = version + 1, updated_at = now(),
       status = CASE WHEN $2 THEN 'working' ELSE status END
     WHERE task = $1`,
    [task, isReady],
  )
}

/** Asks the owner, each question under a key that this task has not used on the wire. */
export async function insertQuestions(
  sql: Sql,
  { database }: PostgresTaskStore,
  task: string,
  questions: readonly QuestionText[],
): Promise<void> {
  if (questions.length === 0) return
  const { tables } = database.names
  const rows = await sql.rows<{ wire_key: string; key: string }>(
    `SELECT wire_key, key FROM ${tables}.questions WHERE task = $1`,
    [task],
  )
  const wireKeys = pickWireKeys(rows, questions)
  await sql.rows(
    `INSERT INTO ${tables}.questions (task, wire_key, key, question, times, request, approvers, state)
     SELECT $1, wire_key, key, question, times, request, approvers, 'open'
     FROM unnest($2::text[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::text[]) WITH ORDINALITY
       AS given (wire_key, key, question, times, request, approvers, place)
     ORDER BY place`,
    [
      task,
      wireKeys,
      questions.map(({ key }) => key),
      questions.map(({ question }) => question),
      questions.map(({ times }) => times),
      questions.map(({ request }) => request),
      questions.map(({ approvers }) => approvers),
    ],
  )
}

function pickWireKeys(
  rows: readonly { wire_key: string; key: string }[],
  questions: readonly QuestionText[],
): string[] {
  const taken = new Set(rows.map(({ wire_key: wireKey }) => wireKey))
  const counts = new Map<string, number>()
  for (const { key } of rows) counts.set(key, (counts.get(key) ?? 0) + 1)
  return questions.map(({ key }) => {
    const asked = counts.get(key) ?? 0
    const wireKey = JSON.stringify(nextWireKey(readString(key), asked, (wire) => taken.has(JSON.stringify(wire))))
    taken.add(wireKey)
    counts.set(key, asked + 1)
    return wireKey
  })
}

/** Changes of a task that do not come from its run: it is answered, cancelled, failed or removed. */
import { CODES } from '../../protocol/index.ts'
import type { TaskAnswers, TaskFailure, TaskRecord } from '../engine.ts'
import { change, emit, query, type Transaction } from './driver.ts'
import { answerQuestions, closeQuestions } from './questions/rows.ts'
import { getTask, type TaskRef } from './records.ts'
import { keptUntil, notExpired, RELEASED, type TaskStore, touched } from './store.ts'

const SWEEP_BATCH = 100

/** The row of a task that is locked until the transaction ends. */
interface LockedRow {
  readonly number: number
  readonly status: TaskRecord['status']
  readonly tool: string
}

/**
 * Stores answers. Partial answers are kept; the last one makes the task ready. Only the owner can answer questions that do not name
 * their approvers. `onStored` reports whether one of the questions was open.
 */
export function answerTask(
  store: TaskStore,
  ref: TaskRef,
  answers: TaskAnswers & { readonly isOwner: boolean },
  onStored: (isStored: boolean) => void = () => {},
): Promise<TaskRecord | undefined> {
  return changeTask(store, ref, function* ({ number, status, tool }) {
    onStored(false) // a transaction may run twice
    if (status !== 'input_required') return
    const open = yield* answerQuestions(store, number, answers)
    if (open === undefined) return
    onStored(true)
    yield* change(
      `UPDATE ${store.sql.tasks} SET status = $2, ${touched(store.sql)} WHERE number = CAST($1 AS bigint)`,
      [number, open === 0 ? 'working' : 'input_required'],
    )
    yield* emit(open === 0 ? { kind: 'ready', task: ref.address, tool } : { kind: 'changed', task: ref.address })
  })
}

/** Cancels a task that has not ended. Its run is notified by losing the lease. */
export function cancelTask(store: TaskStore, ref: TaskRef): Promise<TaskRecord | undefined> {
  return changeTask(store, ref, function* ({ number, status }) {
    if (status !== 'working' && status !== 'input_required') return
    yield* endTask(store, number, 'cancelled', null)
    yield* emit({ kind: 'cancelled', task: ref.address })
  })
}

/** Ends a task that no run can end. */
export function* failTask(store: TaskStore, task: number, message: string): Transaction<void> {
  const failure: TaskFailure = { code: CODES.INTERNAL_ERROR, message }
  yield* endTask(store, task, 'failed', JSON.stringify(failure))
}

function* endTask(
  store: TaskStore,
  task: number,
  status: 'cancelled' | 'failed',
  outcome: string | null,
): Transaction<void> {
  const { sql, settings } = store
  yield* change(
    `UPDATE ${sql.tasks} SET ${RELEASED}, ${touched(sql)}, status = $2, message = NULL, outcome = $3,
       expires_at = ${keptUntil(sql, '$4')} WHERE number = CAST($1 AS bigint)`,
    [task, status, outcome, settings.keepMs],
  )
  yield* closeQuestions(store, task)
}

/** Changes a task if it exists, and returns the changed task. */
async function changeTask(
  store: TaskStore,
  { address, owner }: TaskRef,
  changeRow: (row: LockedRow) => Transaction<void>,
): Promise<TaskRecord | undefined> {
  const { driver, sql } = store
  const find = `SELECT t.number, t.status, t.tool_key AS tool FROM ${sql.tasks} AS t
    WHERE t.address = $1 AND t.owner = $2 AND ${notExpired(sql)}`
  // First reads without a lock, so that the request of a stranger does not wait for a write.
  if ((await driver.read(find, [address, owner])).length === 0) return undefined
  return driver.transaction(function* () {
    const [row] = yield* query<LockedRow>(`${find} ${sql.forUpdate}`, [address, owner])
    if (row === undefined) return undefined
    const number = Number(row.number)
    yield* changeRow({ ...row, number })
    return yield* getTask(store, number)
  })
}

/** Ends the tasks that wait for an answer whose time is over. */
export async function endUnanswered(store: TaskStore): Promise<void> {
  const { driver, sql } = store
  const due = `SELECT DISTINCT q.task FROM ${sql.questions} AS q
    WHERE q.state = 'open' AND q.expires_at <= ${sql.now} LIMIT ${SWEEP_BATCH}`
  for (let found = SWEEP_BATCH; found === SWEEP_BATCH; ) {
    const rows = await driver.read<{ task: string | number }>(due)
    for (const { task } of rows) await endIfUnanswered(store, Number(task))
    found = rows.length
  }
}

function endIfUnanswered(store: TaskStore, task: number): Promise<void> {
  const { driver, sql } = store
  return driver.transaction(function* () {
    const [row] = yield* query<{ address: string }>(
      `SELECT t.address FROM ${sql.tasks} AS t WHERE t.number = CAST($1 AS bigint) AND EXISTS (
         SELECT 1 FROM ${sql.questions} AS q WHERE q.task = t.number AND q.state = 'open' AND q.expires_at <= ${sql.now})
       ${sql.forUpdate}`,
      [task],
    )
    if (row === undefined) return
    yield* failTask(store, task, 'There was no answer in time.')
    yield* emit({ kind: 'changed', task: row.address })
  })
}

/**
 * Removes expired tasks in small batches, so that other writers never wait long. Expired tasks cannot be read even
 * before that.
 */
export async function sweep({ driver, sql }: TaskStore): Promise<void> {
  const due = `SELECT t.number FROM ${sql.tasks} AS t WHERE t.expires_at <= ${sql.now} ORDER BY t.expires_at`
  if ((await driver.read(`${due} LIMIT 1`)).length === 0) return
  for (let removed = SWEEP_BATCH; removed === SWEEP_BATCH; ) {
    removed = await driver.change(
      `WITH due (chosen) AS MATERIALIZED (${due} LIMIT ${SWEEP_BATCH} ${sql.skipLocked})
       DELETE FROM ${sql.tasks} WHERE number IN (SELECT chosen FROM due)`,
      [],
    )
  }
}

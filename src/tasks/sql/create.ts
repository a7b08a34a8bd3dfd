/** Creates a task in one transaction, once for each call. */
import { StateError } from '../../state/internal.ts'
import type { NewTask, TaskRecord } from '../engine.ts'
import { entryText } from '../entry.ts'
import { MEMBERS_SHARE, refusalOfTask } from '../fairness.ts'
import { answeredBefore, type QuestionRow } from '../journalRows.ts'
import { change, emit, query, type SqlValue, type Transaction } from './driver.ts'
import { addAnswered } from './questions/rows.ts'
import { getTask } from './records.ts'
import { keyOf, notExpired, sameKey, statement, type TaskStore } from './store.ts'

const MAX_TRIES = 5
// A safe integer even when added to a date.
const MAX_TTL_MS = 2 ** 52

/** A new task as it will be stored. */
interface PreparedTask {
  readonly task: NewTask
  /** The key of the call. */
  readonly call: string
  readonly holder: string
  readonly member: string | null
  readonly tool: string
  readonly same: string | null
  /** The columns of `calls`: when the call began, the arguments, the caller, the state of its handler, and `answerMs`. */
  readonly columns: readonly [number | null, string, string, string | null, number | null]
  readonly steps: readonly (readonly [key: string, value: string | null])[]
  readonly answers: readonly (readonly [question: QuestionRow, response: string])[]
}

/** Returns the task that the call, or one that is the same, has created now or before. */
export async function createTask(store: TaskStore, task: NewTask): Promise<TaskRecord> {
  const prepared = prepare(store, task)
  return store.driver.transaction(function* () {
    for (let turn = 0; turn < MAX_TRIES; turn++) {
      const created = yield* insert(store, prepared)
      if (created !== undefined) return created
      const before = yield* createdBefore(store, prepared)
      if (before !== undefined) return before
    }
    throw new StateError('STORE_UNAVAILABLE', 'Tasks of this call were created and removed concurrently; try again.')
  })
}

function prepare(store: TaskStore, task: NewTask): PreparedTask {
  const { audience, driver, settings } = store
  const text = (what: string, value: unknown) => entryText(what, value, settings.maxEntryBytes)
  const { id, own, steps, begunAt } = task.journal
  return {
    task,
    call: driver.key(audience, task.owner, id),
    holder: keyOf(store, task.holder),
    member: task.member === undefined ? null : keyOf(store, task.member),
    tool: keyOf(store, task.tool),
    same: task.same === undefined ? null : sameKey(store, task.owner, task.same),
    columns: [
      begunAt ?? null,
      text('The arguments', task.args),
      text('The caller', task.caller),
      own === undefined ? null : text('The state of a handler', own),
      task.answerMs ?? null,
    ],
    steps: Array.from(steps, ([key, { value }]) => {
      return [JSON.stringify(key), value === undefined ? null : text(`The result of the step "${key}"`, value)] as const
    }),
    answers: answeredBefore(task.journal).map((question) => [question, text('An answer', question.response)] as const),
  }
}

/** Counts unfinished tasks up to a limit, by a condition. */
function countUnfinished({ sql }: TaskStore, condition: string, limit: number): string {
  return `(SELECT count(*) FROM (SELECT 1 FROM ${sql.tasks} AS t
    WHERE ${condition} AND t.status IN ('working', 'input_required') LIMIT ${limit}) AS counted)`
}

// Expressions, so that no other statement uses the indexes for counting.
const OF_HOLDER = "t.holder || '' ="
const OF_MEMBER = "t.member IS NOT NULL AND t.member || '' ="

/** $4 is the holder and $5 the member, if any. */
function insertText(store: TaskStore, hasMember: boolean): string {
  const { sql, settings } = store
  const ofMember = settings.maxTasksPerCaller
  const ofHolder = ofMember * (hasMember ? MEMBERS_SHARE : 1)
  const isAllowed = `${countUnfinished(store, `${OF_HOLDER} $4`, ofHolder)} < ${ofHolder}`
  return `INSERT INTO ${sql.tasks} (address, owner, call, holder, member, tool_key, id, tool, call_id, round, expires_at,
      same_key, created_at, updated_at, status)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, CAST($10 AS integer), ${sql.now} + CAST($11 AS bigint),
      $12, ${sql.now}, ${sql.now}, 'working'
    WHERE ${isAllowed} ${hasMember ? `AND ${countUnfinished(store, `${OF_MEMBER} $5`, ofMember)} < ${ofMember}` : ''}
    ON CONFLICT DO NOTHING RETURNING number, created_at`
}

const INSERT = statement((store) => insertText(store, false))
const INSERT_OF_MEMBER = statement((store) => insertText(store, true))

/** Undefined if this call has created a task before, or its caller may not have another. */
function* insert(store: TaskStore, prepared: PreparedTask): Transaction<TaskRecord | undefined> {
  const { task, call, holder, member, tool, same } = prepared
  const ttlMs = task.ttlMs === null ? null : Math.min(Math.ceil(task.ttlMs), MAX_TTL_MS)
  const values: SqlValue[] = [keyOf(store, task.id), keyOf(store, task.owner), call, holder, member, tool]
  values.push(
    ...[task.id, task.tool, task.journal.id].map((text) => JSON.stringify(text)),
    task.journal.round,
    ttlMs,
    same,
  )
  const text = member === null ? INSERT(store) : INSERT_OF_MEMBER(store)
  const [row] = yield* query<{ number: string | number; created_at: string | number }>(text, values)
  if (row === undefined) return undefined
  yield* addJournal(store, Number(row.number), prepared)
  yield* emit({ kind: 'created', tool })
  return newRecord(task, ttlMs, Number(row.created_at))
}

const INSERT_CALL = statement(
  ({ sql }) => `INSERT INTO ${sql.calls} (task, begun_at, args, caller, own, answer_ms)
    VALUES ($1, $2, $3, $4, $5, CAST($6 AS bigint))`,
)
const INSERT_STEP = statement(({ sql }) => `INSERT INTO ${sql.steps} (task, key, done, value) VALUES ($1, $2, 1, $3)`)

function* addJournal(store: TaskStore, number: number, { columns, steps, answers }: PreparedTask): Transaction<void> {
  yield* change(INSERT_CALL(store), [number, ...columns])
  for (const [key, value] of steps) yield* change(INSERT_STEP(store), [number, key, value])
  for (const [question, response] of answers) yield* addAnswered(store, number, question, response)
}

/**
 * The earlier task of the call; undefined if it has expired. Throws if there is none, because the caller may not have
 * another task.
 */
function* createdBefore(store: TaskStore, prepared: PreparedTask): Transaction<TaskRecord | undefined> {
  const { sql } = store
  const [row] = yield* query<{ number: string | number; is_live: number }>(
    `SELECT t.number, CASE WHEN ${notExpired(sql)} THEN 1 ELSE 0 END AS is_live FROM ${sql.tasks} AS t
     WHERE t.call = $1 OR t.same_key = $2`,
    [prepared.call, prepared.same],
  )
  if (row === undefined) return yield* refuse(store, prepared)
  if (row.is_live === 1) return yield* getTask(store, Number(row.number))
  yield* change(`DELETE FROM ${sql.tasks} WHERE number = CAST($1 AS bigint)`, [Number(row.number)])
  return undefined
}

function* refuse(store: TaskStore, { holder, member }: PreparedTask): Transaction<undefined> {
  const { maxTasksPerCaller } = store.settings
  const all = maxTasksPerCaller * MEMBERS_SHARE
  const ofMember = member === null ? 'NULL' : countUnfinished(store, `${OF_MEMBER} $2`, all)
  const [row] = yield* query<{ of_holder: string | number; of_member: string | number | null }>(
    `SELECT ${countUnfinished(store, `${OF_HOLDER} $1`, all)} AS of_holder, ${ofMember} AS of_member`,
    [holder, ...(member === null ? [] : [member])],
  )
  const counted = { ofHolder: Number(row?.of_holder), ofMember: member === null ? undefined : Number(row?.of_member) }
  const refusal = refusalOfTask(counted, maxTasksPerCaller)
  if (refusal !== undefined) throw refusal
}

function newRecord({ id, tool }: NewTask, ttlMs: number | null, createdAt: number): TaskRecord {
  return {
    id,
    tool,
    status: 'working',
    statusMessage: undefined,
    progress: undefined,
    createdAt,
    updatedAt: createdAt,
    ttlMs,
    questions: new Map(),
    approvers: new Map(),
    result: undefined,
    failure: undefined,
  }
}

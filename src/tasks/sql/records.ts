/** Tasks as their owners see them. One statement reads a task and its questions, independent of its status and of the reader. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import { PAGE_BYTES, type Page, type TaskFailure, type TaskRecord } from '../engine.ts'
import { readApprovers, readEntry, readObject, readProgress, readString, unreadable } from '../entry.ts'
import { cursorUnknown } from '../errors.ts'
import { handlerKeysOf } from '../journalRows.ts'
import { jsonRows, query, type Transaction } from './driver.ts'
import { isOpen, keyOf, notExpired, sameKey, statement, type TaskStore } from './store.ts'

const STATUSES = ['working', 'input_required', 'completed', 'failed', 'cancelled'] as const

interface RecordRow {
  readonly id: string
  readonly tool: string
  readonly status: string
  readonly message: string | null
  readonly progress: string | null
  readonly created_at: string | number
  readonly updated_at: string | number
  readonly expires_at: string | number | null
  readonly outcome: string | null
  readonly questions: unknown
}

/** The key of a task and its owner. Looking up a task of another owner takes the same work as an unknown id. */
export interface TaskRef {
  readonly address: string
  readonly owner: string
}

export function taskRef(store: TaskStore, id: string, owner: string): TaskRef {
  return { address: keyOf(store, id), owner: keyOf(store, owner) }
}

function columns({ sql }: TaskStore): string {
  const open = `${sql.questions} AS q WHERE q.task = t.number AND ${isOpen(sql)}`
  return `t.id, t.tool, t.status, t.message, t.progress, t.created_at, t.updated_at, t.expires_at, t.outcome,
    ${sql.jsonArrays('q.wire_key, q.key, q.request, q.approvers', open, 'q.place')} AS questions`
}

const READ_TASK = statement(
  (store) => `SELECT ${columns(store)} FROM ${store.sql.tasks} AS t
    WHERE t.address = $1 AND t.owner = $2 AND ${notExpired(store.sql)}`,
)

export async function readTask(store: TaskStore, { address, owner }: TaskRef): Promise<TaskRecord | undefined> {
  const [row] = await store.driver.read<RecordRow>(READ_TASK(store), [address, owner])
  return row && recordOf(row)
}

/** A task by its number, also if it has expired during the write. */
export function* getTask(store: TaskStore, task: number): Transaction<TaskRecord> {
  const [row] = yield* query<RecordRow>(
    `SELECT ${columns(store)} FROM ${store.sql.tasks} AS t WHERE t.number = CAST($1 AS bigint)`,
    [task],
  )
  if (row === undefined) throw unreadable()
  return recordOf(row)
}

/** A task of any owner that waits for approvers. */
export async function awaitingRef(store: TaskStore, id: string): Promise<TaskRef | undefined> {
  const { driver, sql } = store
  const [row] = await driver.read<TaskRef>(
    `SELECT t.address, t.owner FROM ${sql.tasks} AS t
     WHERE t.address = $1 AND ${notExpired(sql)} AND EXISTS (
       SELECT 1 FROM ${sql.questions} AS q WHERE q.task = t.number AND ${isOpen(sql)} AND q.approvers IS NOT NULL)`,
    [keyOf(store, id)],
  )
  return row
}

/** The task of calls that are the same. */
export async function sameTask(store: TaskStore, owner: string, same: string): Promise<TaskRecord | undefined> {
  const [row] = await store.driver.read<RecordRow>(SAME_TASK(store), [sameKey(store, owner, same)])
  return row && recordOf(row)
}

const SAME_TASK = statement(
  (store) => `SELECT ${columns(store)} FROM ${store.sql.tasks} AS t
    WHERE t.same_key = $1 AND ${notExpired(store.sql)}`,
)

/** The ids among these of tasks that the owner has. */
export async function existingTasks(store: TaskStore, ids: readonly string[], owner: string): Promise<string[]> {
  const { driver, sql } = store
  const addresses = ids.map((id) => keyOf(store, id))
  const rows = await driver.read<{ address: string }>(
    `SELECT t.address FROM ${sql.tasks} AS t
     WHERE ${sql.among('t.address', '$1', 'text')} AND t.owner = $2 AND ${notExpired(sql)}`,
    [addresses, keyOf(store, owner)],
  )
  const found = new Set<string | undefined>(rows.map(({ address }) => address))
  return ids.filter((_, at) => found.has(addresses[at]))
}

export async function listTasks(
  store: TaskStore,
  owner: string,
  after: string | undefined,
  limit: number,
): Promise<Page> {
  const { driver, sql } = store
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : await positionOf(store, taskRef(store, after, owner))
  const rows = await driver.read<RecordRow & { found: string | number }>(
    `WITH page AS (
       SELECT t.number, length(t.outcome) AS size FROM ${sql.tasks} AS t
       WHERE t.owner = $1 AND t.number < CAST($2 AS bigint) AND ${notExpired(sql)}
       ORDER BY t.number DESC LIMIT CAST($3 AS bigint)
     ), sized AS (
       SELECT number, count(*) OVER () AS found,
         sum(size) OVER (ORDER BY number DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS size
       FROM page
     )
     SELECT ${columns(store)}, sized.found FROM sized JOIN ${sql.tasks} AS t ON t.number = sized.number
     WHERE coalesce(sized.size, 0) <= CAST($4 AS bigint) ORDER BY t.number DESC LIMIT CAST($3 AS bigint) - 1`,
    [keyOf(store, owner), before, limit + 1, PAGE_BYTES],
  )
  const isLast = Number(rows[0]?.found ?? 0) <= rows.length
  return { tasks: rows.flatMap((row) => recordOrNone(store, row)), next: isLast ? undefined : lastId(rows) }
}

/** The position of a task in the list, also of an expired one, whose row still works as a cursor. */
async function positionOf({ driver, sql }: TaskStore, { address, owner }: TaskRef): Promise<number> {
  const [row] = await driver.read<{ number: string | number }>(
    `SELECT t.number FROM ${sql.tasks} AS t WHERE t.address = $1 AND t.owner = $2`,
    [address, owner],
  )
  if (row === undefined) throw cursorUnknown()
  return Number(row.number)
}

/** The record of a row; undefined for a task with damaged rows, which lists leave out. */
function recordOrNone({ logger }: TaskStore, row: RecordRow): TaskRecord[] {
  try {
    return [recordOf(row)]
  } catch (error) {
    if (!(error instanceof StateError) || error.code !== 'STORE_CORRUPT') throw error
    logger().error({ task: row.id }, 'The stored data of a task is damaged; the task is left out of a list.')
    return []
  }
}

/** The last readable id, as the cursor of the next page. */
function lastId(rows: readonly RecordRow[]): string | undefined {
  return rows
    .flatMap(({ id }) => {
      try {
        return [readString(id)]
      } catch {
        return []
      }
    })
    .at(-1)
}

function recordOf(row: RecordRow): TaskRecord {
  const { message, outcome, created_at: createdAt, expires_at: expiresAt } = row
  const status = STATUSES.find((known) => known === row.status)
  if (status === undefined) throw unreadable()
  return {
    id: readString(row.id),
    tool: readString(row.tool),
    status,
    statusMessage: message === null ? undefined : readString(message),
    progress: readProgress(row.progress),
    createdAt: Number(createdAt),
    updatedAt: Number(row.updated_at),
    ttlMs: expiresAt === null ? null : Number(expiresAt) - Number(createdAt),
    ...questionsOf(row.questions),
    result: status === 'completed' ? readObject(outcome) : undefined,
    failure: status === 'failed' ? readFailure(outcome) : undefined,
  }
}

/** The open questions by their keys on the wire, and the approvers of those that are not for the owner. */
function questionsOf(value: unknown): Pick<TaskRecord, 'questions' | 'handlerKeys' | 'approvers'> {
  const rows = jsonRows(value).map(([wireKey, key, request, approvers]) => {
    // Sound: only `ask` writes requests.
    const read = { wireKey: readString(wireKey), request: readObject(request) as unknown as InputRequest }
    return { ...read, key: readString(key), approvers }
  })
  return {
    questions: new Map(rows.map(({ wireKey, request }) => [wireKey, request])),
    ...handlerKeysOf(rows.map(({ wireKey, key }) => [wireKey, key])),
    approvers: new Map(
      rows.flatMap(({ wireKey, approvers }) =>
        typeof approvers === 'string' ? [[wireKey, readApprovers(approvers)] as const] : [],
      ),
    ),
  }
}

function readFailure(text: unknown): TaskFailure {
  const failure = readEntry(text)
  if (!isObject(failure)) throw unreadable()
  const { code, message, data } = failure
  if (typeof code !== 'number' || typeof message !== 'string') throw unreadable()
  return data === undefined ? { code, message } : { code, message, data }
}

/** Changes of status that an owner can see: cancelled, or failed because workers were lost too often. */
import { CODES } from '../../protocol/index.ts'
import { LOST_TOO_OFTEN, type TaskFailure, type TaskRecord } from '../../tasks/internal.ts'
import type { Sql } from '../sql.ts'
import { readTask } from './records.ts'
import { NOT_EXPIRED, type PostgresTaskStore, type TaskRef, transaction } from './store.ts'

/** Assignments for UPDATE: no worker holds the task, it has no job, and its owner sees a change. */
export const RELEASED = 'held = false, job = NULL, version = t.version + 1, updated_at = now()'

/** When a task that ends now expires: at the end of its TTL, or without one after `keepMs`, a parameter like `$2`. */
export function keptUntil(keepMs: string): string {
  return `coalesce(t.expires_at, now()::timestamptz(3) + ${keepMs}::float8 * interval '1 millisecond')`
}

export interface TaskChange {
  readonly task: TaskRecord
  readonly isChanged: boolean
  /** The queue of the task, if it has become ready. */
  readonly queue?: string | undefined
}

/** The row of a task that is locked until the transaction ends. */
export interface LockedRow {
  readonly task: string
  readonly status: TaskRecord['status']
  readonly queue: string
  readonly job: string | null
}

/** Cancels a task that has not ended. Its run learns of it by losing the lease. */
export function cancelTask(store: PostgresTaskStore, ref: TaskRef): Promise<TaskChange | undefined> {
  return transaction(store, async (sql) => {
    const row = await lockTask(sql, store, ref)
    if (row === undefined) return undefined
    const isChanged = row.status === 'working' || row.status === 'input_required'
    if (isChanged) {
      await sql.rows(
        `UPDATE ${store.database.names.tables}.tasks AS t SET ${RELEASED}, status = 'cancelled', status_message = NULL,
           expires_at = ${keptUntil('$2')} WHERE t.task = $1`,
        [row.task, store.settings.keepMs],
      )
      if (row.job !== null) await store.jobs.remove(sql, row.queue, [row.job])
    }
    const task = await readTask(sql, store, ref)
    return task && { task, isChanged }
  })
}

/** Locks a task of this owner, if it exists. */
export async function lockTask(
  sql: Sql,
  { database }: PostgresTaskStore,
  { address, owner }: TaskRef,
): Promise<LockedRow | undefined> {
  const [row] = await sql.rows<LockedRow>(
    `SELECT task, status, queue, job FROM ${database.names.tables}.tasks AS t
     WHERE t.address = $1 AND t.owner = $2 AND ${NOT_EXPIRED} FOR NO KEY UPDATE`,
    [address, owner],
  )
  return row
}

const EXHAUSTED: TaskFailure = { code: CODES.INTERNAL_ERROR, message: LOST_TOO_OFTEN }

/** Ends tasks that have lost too many workers. */
export async function failExhausted(
  sql: Sql,
  { database, settings }: PostgresTaskStore,
  tasks: readonly string[],
): Promise<void> {
  if (tasks.length === 0) return
  await sql.rows(
    `UPDATE ${database.names.tables}.tasks AS t SET ${RELEASED}, status = 'failed', status_message = NULL, failure = $2,
       expires_at = ${keptUntil('$3')} WHERE t.task = ANY($1::bigint[])`,
    [tasks, JSON.stringify(EXHAUSTED), settings.keepMs],
  )
}

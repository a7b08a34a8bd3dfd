/** Creates a task in one transaction, once for each call. */
import { StateError } from '../../state/internal.ts'
import {
  answeredBefore,
  entryText,
  type NewTask,
  type TaskRecord,
  textOrNull,
  tooManyTasks,
} from '../../tasks/internal.ts'
import { digest } from '../digest.ts'
import { MAX_LIFE_MS } from '../expiry.ts'
import { NEW_RECORD_COLUMNS, type RecordRow, recordColumns, recordOf } from './records.ts'
import type { Sql } from '../sql.ts'
import { NOT_EXPIRED, addressDigest, ownerDigest, type PostgresTaskStore, transaction } from './store.ts'

const MAX_ATTEMPTS = 5

export interface Creation {
  readonly task: TaskRecord
  /** The queue of the new task; undefined when its call had created it before. */
  readonly queue: string | undefined
}

interface Prepared {
  readonly call: Buffer
  readonly holder: Buffer
  readonly queue: string
  readonly row: readonly unknown[]
  readonly steps: readonly [keys: string[], values: (string | null)[]]
  readonly asks: readonly [
    keys: string[],
    questions: (string | null)[],
    times: number[],
    responses: string[],
    by: (string | null)[],
  ]
}

export async function createTask(store: PostgresTaskStore, task: NewTask): Promise<Creation> {
  const prepared = await prepare(store, task)
  const creation = await transaction(store, async (sql) => {
    if (!(await isAllowed(sql, store, prepared))) return undefined
    for (let turn = 0; turn < MAX_ATTEMPTS; turn++) {
      const created = await insert(sql, store, prepared)
      if (created !== undefined) return { task: created, queue: prepared.queue }
      const before = await findByCall(sql, store, prepared.call)
      if (before !== undefined) return { task: before, queue: undefined }
      await removeExpired(sql, store, prepared.call)
    }
    throw new StateError('STORE_UNAVAILABLE', 'Tasks of this call were created and removed concurrently; try again.')
  })
  // Not inside: a transaction that fails costs its connection.
  if (creation === undefined) throw tooManyTasks(store.settings.maxTasksPerCaller)
  return creation
}

/** Whether the caller may have another task, or the call has created one before. */
async function isAllowed(sql: Sql, store: PostgresTaskStore, { call, holder }: Prepared): Promise<boolean> {
  const { maxTasksPerCaller } = store.settings
  const { tables } = store.database.names
  const [row] = await sql.rows<{ unfinished: number }>(
    `SELECT count(*)::integer AS unfinished FROM (
       SELECT FROM ${tables}.tasks
       WHERE encode(holder, 'hex') = $1 AND status IN ('working', 'input_required') LIMIT $2
     ) AS counted`,
    [holder.toString('hex'), maxTasksPerCaller],
  )
  if (row !== undefined && row.unfinished < maxTasksPerCaller) return true
  return (await sql.rows(`SELECT FROM ${tables}.tasks WHERE call = $1`, [call])).length > 0
}

async function prepare(store: PostgresTaskStore, task: NewTask): Promise<Prepared> {
  const { maxEntryBytes } = store.settings
  const { id, owner, holder, tool, args, caller, journal, ttlMs } = task
  const { own, begunAt, round } = journal
  const asks = answeredBefore(journal)
  const steps = [...journal.steps]
  const stepText = (key: string, { value }: { readonly value?: unknown }) =>
    value === undefined ? null : entryText(`The result of the step "${key}"`, value, maxEntryBytes)
  return {
    call: digest(store.audience, owner, journal.id),
    holder: ownerDigest(store, holder),
    queue: await store.jobs.queueOf(tool),
    row: [
      addressDigest(store, id),
      ownerDigest(store, owner),
      id,
      tool,
      entryText('The arguments', args, maxEntryBytes),
      entryText('The caller', caller, maxEntryBytes),
      JSON.stringify(journal.id),
      begunAt ?? null,
      own === undefined ? null : entryText('The state of a handler', own, maxEntryBytes),
      round,
      ttlMs === null ? null : Math.min(ttlMs, MAX_LIFE_MS),
    ],
    steps: [steps.map(([key]) => JSON.stringify(key)), steps.map(([key, result]) => stepText(key, result))],
    asks: [
      asks.map(({ key }) => JSON.stringify(key)),
      asks.map(({ question }) => textOrNull(question)),
      asks.map(({ times }) => times),
      asks.map(({ response }) => entryText('An answer', response, maxEntryBytes)),
      asks.map(({ by }) => textOrNull(by)),
    ],
  }
}

/** Undefined when this call has created a task before. */
async function insert(sql: Sql, store: PostgresTaskStore, prepared: Prepared): Promise<TaskRecord | undefined> {
  const { call, holder, queue, steps, asks } = prepared
  const { tables } = store.database.names
  const [created] = await sql.rows<RecordRow & { task: string }>(
    `INSERT INTO ${tables}.tasks AS t (address, owner, id, tool, args, caller, call_id, begun_at, own, round, expires_at,
       call, queue, holder, status)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
       now()::timestamptz(3) + $11::float8 * interval '1 millisecond', $12, $13, $14, 'working')
     ON CONFLICT (call) DO NOTHING RETURNING t.task, ${NEW_RECORD_COLUMNS}`,
    [...prepared.row, call, queue, holder],
  )
  if (created === undefined) return undefined
  if (steps[0].length > 0) {
    await sql.rows(`INSERT INTO ${tables}.steps (task, key, value) SELECT $1, * FROM unnest($2::text[], $3::text[])`, [
      created.task,
      ...steps,
    ])
  }
  if (asks[0].length > 0) {
    await sql.rows(
      `INSERT INTO ${tables}.questions (task, wire_key, key, question, times, response, answered_by, state)
       SELECT $1, key, key, question, times, response, by, 'answered'
       FROM unnest($2::text[], $3::text[], $4::integer[], $5::text[], $6::text[])
         AS given (key, question, times, response, by)`,
      [created.task, ...asks],
    )
  }
  return recordOf(created)
}

async function findByCall(sql: Sql, store: PostgresTaskStore, call: Buffer): Promise<TaskRecord | undefined> {
  const [row] = await sql.rows<RecordRow>(
    `SELECT ${recordColumns(store)} FROM ${store.database.names.tables}.tasks AS t WHERE t.call = $1 AND ${NOT_EXPIRED}`,
    [call],
  )
  return row && recordOf(row)
}

/** A job that the task may still have, because it was run, is dropped by the worker that fetches it. */
async function removeExpired(sql: Sql, { database }: PostgresTaskStore, call: Buffer): Promise<void> {
  await sql.rows(`DELETE FROM ${database.names.tables}.tasks AS t WHERE t.call = $1 AND NOT ${NOT_EXPIRED}`, [call])
}

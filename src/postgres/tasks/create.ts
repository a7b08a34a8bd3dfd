/** Creates a task in one transaction, once for each call. */
import { StateError } from '../../state/internal.ts'
import {
  answeredBefore,
  entryText,
  MEMBERS_SHARE,
  type NewTask,
  refusalOfTask,
  type TaskError,
  type TaskRecord,
  textOrNull,
  type Unfinished,
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
  readonly member: Buffer | undefined
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
    const refusal = await refusalFor(sql, store, prepared)
    if (refusal !== undefined) return refusal
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
  if (creation instanceof Error) throw creation
  return creation
}

/** Why the caller may not have another task; undefined also when the call has created one before. */
async function refusalFor(sql: Sql, store: PostgresTaskStore, prepared: Prepared): Promise<TaskError | undefined> {
  const refusal = refusalOfTask(await unfinished(sql, store, prepared), store.settings.maxTasksPerCaller)
  if (refusal === undefined) return undefined
  const { tables } = store.database.names
  const before = await sql.rows(`SELECT FROM ${tables}.tasks WHERE call = $1`, [prepared.call])
  return before.length > 0 ? undefined : refusal
}

/** Counts up to the limits. */
async function unfinished(sql: Sql, store: PostgresTaskStore, { holder, member }: Prepared): Promise<Unfinished> {
  const { maxTasksPerCaller } = store.settings
  const { tables } = store.database.names
  const count = (condition: string, most: number) =>
    `(SELECT count(*)::integer FROM (
       SELECT FROM ${tables}.tasks WHERE ${condition} AND status IN ('working', 'input_required') LIMIT ${most}
     ) AS counted)`
  const ofHolder = count("encode(holder, 'hex') = $1", maxTasksPerCaller * (member === undefined ? 1 : MEMBERS_SHARE))
  const ofMember = member === undefined ? 'NULL' : count('member = $2', maxTasksPerCaller)
  const [row] = await sql.rows<{ of_holder: number; of_member: number | null }>(
    `SELECT ${ofHolder} AS of_holder, ${ofMember} AS of_member`,
    [holder.toString('hex'), ...(member === undefined ? [] : [member])],
  )
  return { ofHolder: row?.of_holder ?? 0, ofMember: row?.of_member ?? undefined }
}

async function prepare(store: PostgresTaskStore, task: NewTask): Promise<Prepared> {
  const { maxEntryBytes } = store.settings
  const { id, owner, holder, member, tool, args, caller, journal, ttlMs } = task
  const { own, begunAt, round } = journal
  const asks = answeredBefore(journal)
  const steps = [...journal.steps]
  const stepText = (key: string, { value }: { readonly value?: unknown }) =>
    value === undefined ? null : entryText(`The result of the step "${key}"`, value, maxEntryBytes)
  return {
    call: digest(store.audience, owner, journal.id),
    holder: ownerDigest(store, holder),
    member: member === undefined ? undefined : ownerDigest(store, member),
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
  const { call, holder, member, queue, steps, asks } = prepared
  const { tables } = store.database.names
  const [created] = await sql.rows<RecordRow & { task: string }>(
    `INSERT INTO ${tables}.tasks AS t (address, owner, id, tool, args, caller, call_id, begun_at, own, round, expires_at,
       call, queue, holder, member, status)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
       now()::timestamptz(3) + $11::float8 * interval '1 millisecond', $12, $13, $14, $15, 'working')
     ON CONFLICT (call) DO NOTHING RETURNING t.task, ${NEW_RECORD_COLUMNS}`,
    [...prepared.row, call, queue, holder, member ?? null],
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

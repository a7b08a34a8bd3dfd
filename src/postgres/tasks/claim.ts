/**
 * Picks up tasks: their jobs are fetched, and each is replaced by one that can be fetched when the lease is over.
 *
 * Locks: whoever changes a task locks its row, then its job. Here alone jobs come first, so here nobody waits for a task:
 * one that is locked is left for a moment. A job whose task is gone, over, or has another job is nobody's and is dropped.
 */
import { randomUUID } from 'node:crypto'
import type { Journal } from '../../journal/index.ts'
import { journalOf, LOST_TOO_OFTEN, readEntry, readObject, readString, type TaskFailure } from '../../tasks/internal.ts'
import type { Sql } from '../sql.ts'
import type { TaskJob } from './queue.ts'
import { NOT_EXPIRED, RELEASED, keptUntil, type PostgresTaskStore, transaction } from './store.ts'

interface ClaimedTasks {
  readonly leased: readonly LeasedTask[]
  /** Ids of tasks that have lost too many workers. */
  readonly exhausted: readonly string[]
  /** Whether there may be more. */
  readonly isFull: boolean
}

interface ClaimOptions {
  readonly queue: string
  readonly limit: number
  readonly holdMs: number
}

const BUSY_RETRY_MS = 50
const EXHAUSTED: TaskFailure = { code: -32603, message: LOST_TOO_OFTEN }

export function claimTasks(store: PostgresTaskStore, { queue, limit, holdMs }: ClaimOptions): Promise<ClaimedTasks> {
  const { jobs, settings } = store
  return transaction(store, async (sql) => {
    const fetched = await jobs.fetch(sql, queue, limit)
    if (fetched.length === 0) return { leased: [], exhausted: [], isFull: false }
    const held = await leaseTasks(sql, store, fetched)
    const busy = await findBusy(sql, store, fetched, held)
    const exhausted = held.filter(({ losses }) => losses > settings.maxLosses)
    const kept = held.filter(({ losses }) => losses <= settings.maxLosses)
    await failExhausted(sql, store, exhausted)
    await jobs.remove(sql, queue, idsOf(fetched))
    await jobs.put(sql, queue, busy, BUSY_RETRY_MS)
    await jobs.put(
      sql,
      queue,
      kept.map(({ task, job }) => ({ id: job, task })),
      holdMs,
    )
    const leased = await withJournals(sql, store, kept)
    return { leased, exhausted: exhausted.map(({ id }) => id), isFull: fetched.length === limit }
  })
}

/** Takes the lease of each task that this job is of, the oldest first. */
async function leaseTasks(sql: Sql, { database }: PostgresTaskStore, jobs: readonly TaskJob[]): Promise<LeasedRow[]> {
  const { tables } = database.names
  const rows = await sql.rows<LeasedRow>(
    `WITH ready AS (
       SELECT t.task, given.next FROM ${tables}.tasks AS t
       JOIN unnest($1::bigint[], $2::uuid[], $3::uuid[]) AS given (task, job, next) USING (task, job)
       WHERE t.status = 'working' AND ${NOT_EXPIRED} FOR UPDATE OF t SKIP LOCKED
     )
     UPDATE ${tables}.tasks AS t
     SET epoch = t.epoch + 1, losses = t.losses + t.held::integer, held = true, job = ready.next
     FROM ready WHERE t.task = ready.task
     RETURNING t.task, t.epoch, t.job, t.losses, t.id, t.tool, t.args, t.caller, t.call_id, t.begun_at, t.own, t.round,
       (extract(epoch FROM t.expires_at - now()) * 1000)::float8 AS left_ms`,
    [jobs.map(({ task }) => task), idsOf(jobs), jobs.map(() => randomUUID())],
  )
  return rows.toSorted((one, other) => Number(one.task) - Number(other.task))
}

/** The jobs of tasks that somebody is changing at this moment. */
async function findBusy(
  sql: Sql,
  { database }: PostgresTaskStore,
  jobs: readonly TaskJob[],
  held: readonly LeasedRow[],
) {
  const taken = new Set(held.map(({ task }) => task))
  const others = jobs.filter(({ task }) => !taken.has(task))
  if (others.length === 0) return []
  const rows = await sql.rows<{ job: string }>(
    `SELECT t.job FROM ${database.names.tables}.tasks AS t
     WHERE t.job = ANY($1::uuid[]) AND t.task = ANY($2::bigint[]) AND t.status = 'working' AND ${NOT_EXPIRED}`,
    [idsOf(others), others.map(({ task }) => task)],
  )
  const busy = new Set(rows.map(({ job }) => job))
  return others.filter(({ id }) => busy.has(id))
}

async function failExhausted(
  sql: Sql,
  { database, settings }: PostgresTaskStore,
  exhausted: readonly LeasedRow[],
): Promise<void> {
  if (exhausted.length === 0) return
  await sql.rows(
    `UPDATE ${database.names.tables}.tasks AS t SET ${RELEASED}, status = 'failed', status_message = NULL, failure = $2,
       expires_at = ${keptUntil('$3')} WHERE t.task = ANY($1::bigint[])`,
    [exhausted.map(({ task }) => task), JSON.stringify(EXHAUSTED), settings.keepMs],
  )
}

/** Read once the rows are locked: what a worker committed at the last moment is in it. */
async function withJournals(
  sql: Sql,
  { database }: PostgresTaskStore,
  held: readonly LeasedRow[],
): Promise<LeasedTask[]> {
  if (held.length === 0) return []
  const { tables } = database.names
  const rows = await sql.rows<JournalRow>(
    `SELECT task,
       (SELECT coalesce(json_agg(json_build_array(s.key, s.value)), '[]') FROM ${tables}.steps AS s
        WHERE s.task = given.task) AS steps,
       (SELECT coalesce(json_agg(json_build_array(q.key, q.question, q.times, q.response) ORDER BY q.place), '[]')
        FROM ${tables}.questions AS q WHERE q.task = given.task) AS asks
     FROM unnest($1::bigint[]) AS given (task)`,
    [held.map(({ task }) => task)],
  )
  const journals = new Map(rows.map((row) => [row.task, row]))
  return held.flatMap((row) => {
    const journal = journals.get(row.task)
    return journal === undefined ? [] : [{ ...row, ...journal }]
  })
}

function idsOf(jobs: readonly TaskJob[]): string[] {
  return jobs.map(({ id }) => id)
}

/** A task that this worker holds, as it lies in the tables. */

export type LeasedTask = LeasedRow & JournalRow

interface LeasedRow {
  readonly task: string
  /** Tells this lease from every other of the task. */
  readonly epoch: string
  readonly job: string
  readonly losses: number
  readonly id: string
  readonly tool: string
  readonly args: string
  readonly caller: string
  readonly call_id: string
  readonly begun_at: number | null
  readonly own: string | null
  readonly round: number
  /** How long the task may still live, in milliseconds. */
  readonly left_ms: number | null
}

interface JournalRow {
  readonly task: string
  readonly steps: readonly (readonly [key: string, value: string | null])[]
  readonly asks: readonly (readonly [key: string, question: string | null, times: number, response: string | null])[]
}

export function journalOfTask(row: LeasedTask): Journal {
  return journalOf({
    call: readString(row.call_id),
    round: row.round,
    own: row.own === null ? undefined : readEntry(row.own),
    begunAt: row.begun_at ?? undefined,
    steps: row.steps.map(([key, value]) => {
      return { key: readString(key), result: value === null ? {} : { value: readEntry(value) } }
    }),
    asks: row.asks.map(([key, question, times, response]) => ({
      key: readString(key),
      question: question === null ? undefined : readString(question),
      times,
      response: response === null ? undefined : readObject(response),
    })),
  })
}

/**
 * Claims tasks: it replaces the job of each by one that becomes visible when the lease is over. Tasks that have been run
 * before are fetched from pg-boss, the others are chosen by caller (`ready.ts`).
 *
 * Lock order: other code locks the row of a task and then its job. Where a job is fetched it comes first, so this code
 * never waits for a task: one that is locked is retried shortly after. A job is dropped if its task no longer exists, has ended or has
 * another job.
 *
 * A task whose job became visible although a worker holds it has lost that worker. It comes back as a suspect
 * (`src/tasks/trial.ts`): alone, and after a pause that is the delay of its next job.
 */
import { randomUUID } from 'node:crypto'
import type { Journal } from '../../journal/index.ts'
import { journalOf, readEntry, readObject, readString, retryMs } from '../../tasks/internal.ts'
import type { Sql } from '../sql.ts'
import type { TaskJob } from './queue.ts'
import type { ReadyTask, ReadyTasks } from './ready.ts'
import { NOT_EXPIRED, type PostgresTaskStore, transaction } from './store.ts'
import { failExhausted } from './transitions.ts'

interface ClaimedTasks {
  readonly leased: readonly LeasedTask[]
  /** The ids of tasks that have failed here because they had lost too many workers. */
  readonly exhausted: readonly string[]
  /** Whether more tasks may be ready. */
  readonly isFull: boolean
  /** Whether suspects are left, which have to be claimed without other tasks. */
  readonly hasSuspects: boolean
}

export interface PostgresClaimOptions {
  readonly ready: ReadyTasks
  /** Whether tasks that have lost their worker are claimed before others. */
  readonly isLostFirst: boolean
  readonly queue: string
  readonly limit: number
  readonly holdMs: number
  /** Whether this worker already runs tasks. */
  readonly isRunning: boolean
  /** For how long other tasks come before suspects, in milliseconds. */
  readonly pauseMs: number
}

const BUSY_RETRY_MS = 50

export function claimTasks(store: PostgresTaskStore, options: PostgresClaimOptions): Promise<ClaimedTasks> {
  const { jobs } = store
  const { queue, holdMs } = options
  return transaction(store, async (sql) => {
    const { fetched, isFull } = await nextTasks(sql, store, options)
    if (fetched.length === 0) return { leased: [], exhausted: [], isFull, hasSuspects: false }
    const held = await leaseTasks(sql, store, fetched, options.isRunning)
    const busy = await findBusy(sql, store, fetched, held)
    const { exhausted, kept, postponed } = decide(held, store.settings.maxLosses)
    await failExhausted(
      sql,
      store,
      exhausted.map(({ task }) => task),
    )
    await jobs.remove(sql, queue, idsOf(fetched))
    await jobs.put(sql, queue, busy, BUSY_RETRY_MS)
    await jobs.put(sql, queue, kept.map(nextJob), holdMs)
    await postpone(sql, store, postponed, options)
    const leased = await withJournals(sql, store, kept)
    return { leased, exhausted: exhausted.map(({ id }) => id), isFull, hasSuspects: postponed.length > 0 }
  })
}

interface ClaimableTasks {
  readonly fetched: readonly ReadyTask[]
  readonly isFull: boolean
}

/** Either tasks that have lost their worker, or others: what is left is claimed the next time. */
async function nextTasks(
  sql: Sql,
  { jobs }: PostgresTaskStore,
  { ready, isLostFirst, queue, limit, pauseMs }: PostgresClaimOptions,
): Promise<ClaimableTasks> {
  const fetch = async (hasOld: boolean): Promise<ClaimableTasks> => {
    const fetched = await jobs.fetch(sql, queue, limit, hasOld)
    return { fetched, isFull: fetched.length > 0 }
  }
  const lost = isLostFirst && pauseMs === 0 ? await fetch(false) : undefined
  if (lost?.isFull) return lost
  const { picked, isMore } = await ready.pick(sql, queue, limit)
  if (picked.length > 0) return { fetched: picked, isFull: isMore || pauseMs > 0 }
  return fetch(true)
}

interface ClaimDecision {
  readonly exhausted: readonly LeasedRow[]
  /** Either one suspect, or tasks that are none. */
  readonly kept: readonly LeasedRow[]
  /** Suspects that are not run now. */
  readonly postponed: readonly LeasedRow[]
}

/** Decides what happens to each task. */
function decide(held: readonly LeasedRow[], maxLosses: number): ClaimDecision {
  const exhausted = held.filter(({ losses }) => losses > maxLosses)
  const left = held.filter(({ losses }) => losses <= maxLosses)
  const others = left.filter(({ crashes }) => crashes === 0)
  const suspects = left.filter(({ crashes }) => crashes > 0)
  const suspect = others.length === 0 ? suspects.find((row) => retryDelayMs(row) === 0) : undefined
  const kept = suspect === undefined ? others : [suspect]
  return { exhausted, kept, postponed: suspects.filter((row) => row !== suspect) }
}

/** The pause before a suspect is run again. One that was not lost just now has had its pause. */
function retryDelayMs({ was_held: isLostNow, crashes }: LeasedRow): number {
  return isLostNow ? retryMs(crashes) : 0
}

/** Returns suspects to the queue. */
async function postpone(
  sql: Sql,
  { database, jobs }: PostgresTaskStore,
  suspects: readonly LeasedRow[],
  { queue }: PostgresClaimOptions,
): Promise<void> {
  if (suspects.length === 0) return
  await sql.rows(`UPDATE ${database.names.tables}.tasks SET held = false WHERE task = ANY($1::bigint[])`, [
    suspects.map(({ task }) => task),
  ])
  for (const [delayMs, some] of Map.groupBy(suspects, retryDelayMs)) {
    await jobs.put(sql, queue, some.map(nextJob), delayMs)
  }
}

function nextJob({ task, job }: LeasedRow): TaskJob {
  return { id: job, task }
}

/** Leases the tasks of these jobs, the oldest first. */
async function leaseTasks(
  sql: Sql,
  { database }: PostgresTaskStore,
  jobs: readonly ReadyTask[],
  isRunning: boolean,
): Promise<LeasedRow[]> {
  const { tables } = database.names
  const rows = await sql.rows<LeasedRow>(
    `WITH ready AS (
       SELECT t.task, t.held AS was_held, given.next FROM ${tables}.tasks AS t
       JOIN unnest($1::bigint[], $2::uuid[], $3::uuid[]) AS given (task, job, next)
         ON t.task = given.task AND t.job IS NOT DISTINCT FROM given.job
       WHERE t.status = 'working' AND ${NOT_EXPIRED} FOR UPDATE OF t SKIP LOCKED
     )
     UPDATE ${tables}.tasks AS t
     SET epoch = t.epoch + 1, held = true, job = ready.next,
       losses = t.losses + (t.held AND (t.on_trial OR NOT t.shared))::integer, crashes = t.crashes + t.held::integer,
       on_trial = false, shared = $4 OR (SELECT count(*) FROM ready) > 1
     FROM ready WHERE t.task = ready.task
     RETURNING t.task, t.epoch, t.job, t.losses, t.crashes, t.shared, ready.was_held, t.id, t.tool, t.args, t.caller, t.call_id, t.begun_at, t.own, t.round,
       (extract(epoch FROM t.expires_at - now()) * 1000)::float8 AS left_ms`,
    [jobs.map(({ task }) => task), jobs.map(({ id }) => id), jobs.map(() => randomUUID()), isRunning],
  )
  return rows.toSorted((one, other) => Number(one.task) - Number(other.task))
}

/** The jobs of tasks that another transaction has locked. */
async function findBusy(
  sql: Sql,
  { database }: PostgresTaskStore,
  jobs: readonly ReadyTask[],
  held: readonly LeasedRow[],
): Promise<TaskJob[]> {
  const taken = new Set(held.map(({ task }) => task))
  const others = jobs.filter(({ task }) => !taken.has(task))
  if (others.length === 0) return []
  const rows = await sql.rows<{ job: string }>(
    `SELECT t.job FROM ${database.names.tables}.tasks AS t
     WHERE t.job = ANY($1::uuid[]) AND t.task = ANY($2::bigint[]) AND t.status = 'working' AND ${NOT_EXPIRED}`,
    [idsOf(others), others.map(({ task }) => task)],
  )
  const busy = new Set(rows.map(({ job }) => job))
  return others.flatMap(({ id, task }) => (id !== null && busy.has(id) ? { id, task } : []))
}

/** Reads the journals after the rows are locked, so that the last commits of an earlier worker are included. */
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
       (SELECT coalesce(json_agg(json_build_array(q.key, q.question, q.times, q.response, q.answered_by) ORDER BY q.place), '[]')
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

function idsOf(jobs: readonly ReadyTask[]): string[] {
  return jobs.flatMap(({ id }) => id ?? [])
}

/** The rows of a leased task. */
export type LeasedTask = LeasedRow & JournalRow

interface LeasedRow {
  readonly task: string
  /** The fencing token: each lease of a task has its own. */
  readonly epoch: string
  readonly job: string
  readonly losses: number
  /** How many processes the task has lost in a row. */
  readonly crashes: number
  /** Whether its worker also runs others. */
  readonly shared: boolean
  /** Whether another worker has just lost it. */
  readonly was_held: boolean
  readonly id: string
  readonly tool: string
  readonly args: string
  readonly caller: string
  readonly call_id: string
  readonly begun_at: number | null
  readonly own: string | null
  readonly round: number
  /** The time until the task expires, in milliseconds. */
  readonly left_ms: number | null
}

interface JournalRow {
  readonly task: string
  readonly steps: readonly (readonly [key: string, value: string | null])[]
  readonly asks: readonly (readonly [
    key: string,
    question: string | null,
    times: number,
    response: string | null,
    by: string | null,
  ])[]
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
    asks: row.asks.map(([key, question, times, response, by]) => ({
      key: readString(key),
      question: question === null ? undefined : readString(question),
      times,
      response: response === null ? undefined : readObject(response),
      by: by === null ? undefined : readString(by),
    })),
  })
}

/**
 * Claims tasks: sets the worker, the next generation and the end of the lease in their rows. The generation is the
 * fencing token: every write of a lease names it.
 *
 * Rows that another transaction has locked are skipped, so a claim waits for nothing. Journals are read while the rows
 * are locked, so they include the last commits of an earlier worker.
 */
import type { Journal } from '../../journal/index.ts'
import type { Json } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import { readAnswerer, readEntry, readObject, readString } from '../entry.ts'
import { UNREADABLE } from '../errors.ts'
import { journalOf } from '../journalRows.ts'
import { emit, jsonRows, query, type SqlValue, type Transaction } from './driver.ts'
import type { ReadyTasks } from './ready.ts'
import { notExpired, READY, statement, SUSPECT, type TaskStore } from './store.ts'
import { failTask } from './transitions.ts'

/** A claimed task, as a run needs it. */
export interface ClaimedTask {
  readonly task: number
  readonly generation: number
  readonly id: string
  /** The keys of the task and of its tool, as in events. */
  readonly address: string
  readonly toolKey: string
  readonly tool: string
  readonly args: Json
  readonly caller: Json
  readonly journal: Journal
  /** The number of processes that the task has lost in a row. */
  readonly attempts: number
  /** Whether it has lost workers since its last progress. */
  readonly hasLosses: boolean
  /** The time until the task expires, in milliseconds. */
  readonly leftMs: number | null
}

export interface ClaimOptions {
  readonly worker: string
  readonly holdMs: number
  readonly ready: ReadyTasks
}

export interface ClaimedTasks {
  readonly claimed: readonly ClaimedTask[]
  /** Whether more tasks may be ready. */
  readonly isMore: boolean
  /** Whether others were claiming all ready tasks. */
  readonly isBusy: boolean
}

interface ClaimedRow {
  readonly number: string | number
  readonly generation: string | number
  readonly id: string
  readonly address: string
  readonly tool: string
  readonly tool_key: string
  readonly call_id: string
  readonly round: number
  readonly attempts: number
  readonly losses: number
  readonly left_ms: string | number | null
  readonly begun_at: number | null
  readonly args: string
  readonly caller: string
  readonly own: string | null
  readonly steps: unknown
  readonly questions: unknown
}

const LEASE_READY = statement((store) => {
  const ready = `SELECT t.number FROM ${store.sql.tasks} AS t
    WHERE t.tool_key = $3 AND ${READY} AND t.holder = $4 AND ${notExpired(store.sql)}
    ORDER BY t.number LIMIT CAST($5 AS bigint)`
  return leaseText(store, ready, 'with others')
})

const LEASE_SUSPECT = statement((store) => {
  const { sql } = store
  const suspect = `SELECT t.number FROM ${sql.tasks} AS t
    WHERE ${sql.among('t.tool_key', '$3', 'text')} AND ${SUSPECT} AND t.retry_at <= ${sql.now} AND ${notExpired(sql)}
    ORDER BY t.retry_at LIMIT 1`
  return leaseText(store, suspect, 'alone')
})

/**
 * $1 is the worker, $2 the duration of the lease. `picked` selects the numbers of tasks; its parameters begin with $3.
 */
function leaseText({ sql }: TaskStore, picked: string, runs: 'alone' | 'with others'): string {
  return `WITH picked (chosen) AS MATERIALIZED (${picked} ${sql.skipLocked})
    UPDATE ${sql.tasks} AS t SET worker = $1, generation = generation + 1,
      leased_until = ${sql.now} + CAST($2 AS bigint), alone = ${runs === 'alone' ? 1 : 0}
    FROM picked WHERE t.number = picked.chosen
    RETURNING number`
}

/** Claims tasks of one tool, shared fairly between callers. */
export function* claimReady(
  store: TaskStore,
  options: ClaimOptions & { readonly tool: string; readonly slots: number },
): Transaction<ClaimedTasks> {
  const { shares, isMore } = yield* options.ready.pick(options.tool, options.slots)
  const leased: number[] = []
  for (const [holder, share] of shares) {
    leased.push(...(yield* lease(LEASE_READY(store), options, [options.tool, holder, share])))
  }
  const claimed = yield* readClaimed(store, leased)
  // A task that failed instead of being run leaves its slot free.
  const leavesSlots = claimed.length < leased.length
  return {
    claimed,
    isMore: leased.length > 0 && (isMore || leavesSlots),
    isBusy: shares.size > 0 && leased.length === 0,
  }
}

/** Claims the suspect whose pause ended first: see `attempts.ts`. */
export function* claimSuspect(
  store: TaskStore,
  options: ClaimOptions & { readonly tools: readonly string[] },
): Transaction<readonly ClaimedTask[]> {
  return yield* readClaimed(store, yield* lease(LEASE_SUSPECT(store), options, [options.tools]))
}

function* lease(
  text: string,
  { worker, holdMs }: ClaimOptions,
  values: readonly SqlValue[],
): Transaction<readonly number[]> {
  const rows = yield* query<{ number: string | number }>(text, [worker, Math.round(holdMs), ...values])
  return rows.map(({ number }) => Number(number))
}

/** Oldest first. */
const READ_CLAIMED = statement(({ sql }) => {
  const steps = `${sql.steps} AS s WHERE s.task = t.number AND s.done = 1`
  const questions = `${sql.questions} AS q WHERE q.task = t.number`
  return `SELECT t.number, t.generation, t.id, t.address, t.tool, t.tool_key, t.call_id, t.round, t.attempts, t.losses,
      t.expires_at - ${sql.now} AS left_ms, c.begun_at, c.args, c.caller, c.own,
      ${sql.jsonArrays('s.key, s.value', steps, 's.key')} AS steps,
      ${sql.jsonArrays('q.key, q.question, q.times, q.response, q.answered_by', questions, 'q.place')} AS questions
    FROM ${sql.tasks} AS t LEFT JOIN ${sql.calls} AS c ON c.task = t.number
    WHERE ${sql.among('t.number', '$1', 'bigint')} ORDER BY t.number`
})

/**
 * Reads the tasks with their journals. A task with damaged rows fails; otherwise it would be claimed again and again.
 */
function* readClaimed(store: TaskStore, leased: readonly number[]): Transaction<readonly ClaimedTask[]> {
  if (leased.length === 0) return []
  const claimed: ClaimedTask[] = []
  for (const row of yield* query<ClaimedRow>(READ_CLAIMED(store), [leased])) {
    const task = contentOf(row)
    if (task !== undefined) claimed.push(task)
    else yield* failDamaged(store, row)
  }
  return claimed
}

function contentOf(row: ClaimedRow): ClaimedTask | undefined {
  try {
    return {
      task: Number(row.number),
      generation: Number(row.generation),
      id: readString(row.id),
      address: row.address,
      toolKey: row.tool_key,
      tool: readString(row.tool),
      args: readObject(row.args),
      caller: readObject(row.caller),
      journal: readJournal(row),
      attempts: row.attempts,
      hasLosses: row.losses > 0 || row.attempts > 0,
      leftMs: row.left_ms === null ? null : Number(row.left_ms),
    }
  } catch (error) {
    if (error instanceof StateError && error.code === 'STORE_CORRUPT') return undefined
    throw error
  }
}

function readJournal(row: ClaimedRow): Journal {
  return journalOf({
    call: readString(row.call_id),
    round: row.round,
    own: row.own === null ? undefined : readEntry(row.own),
    begunAt: row.begun_at ?? undefined,
    steps: jsonRows(row.steps).map(([key, value]) => {
      return { key: readString(key), result: value === null ? {} : { value: readEntry(value) } }
    }),
    asks: jsonRows(row.questions).map(([key, question, times, response, by]) => ({
      key: readString(key),
      question: question === null ? undefined : readString(question),
      times: Number(times),
      response: response === null ? undefined : readObject(response),
      by: by === null ? undefined : readAnswerer(by),
    })),
  })
}

function* failDamaged(store: TaskStore, { id, address, number }: ClaimedRow): Transaction<void> {
  store.logger().error({ task: id }, 'The stored data of a task is damaged; the task fails.')
  yield* failTask(store, Number(number), UNREADABLE)
  yield* emit({ kind: 'changed', task: address })
}

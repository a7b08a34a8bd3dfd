/**
 * Claims tasks: it sets the worker, the next generation and the end of the lease in their rows. The generation is the
 * fencing token: every write of a lease names it.
 *
 * Rows that another transaction has locked are passed over, so a claim waits for nothing. Journals are read when the rows
 * are locked, so that the last commits of an earlier worker are included.
 */
import type { Journal } from '../../journal/index.ts'
import type { Json } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import { readEntry, readObject, readString, unreadable } from '../entry.ts'
import { UNREADABLE } from '../errors.ts'
import { journalOf } from '../journalRows.ts'
import { jsonRows, type SqlValue, type Transaction } from './driver.ts'
import type { ReadyTasks } from './ready.ts'
import { notExpired, READY, SUSPECT, type TaskStore } from './store.ts'
import { failTask } from './transitions.ts'

/** What a run needs of its task. */
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
  /** How many processes the task has lost in a row. */
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
  /** Whether others were claiming all the tasks that are ready. */
  readonly isBusy: boolean
}

interface LeasedRow {
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
}

interface JournalRow {
  readonly task: string | number
  readonly begun_at: number | null
  readonly args: string
  readonly caller: string
  readonly own: string | null
  readonly steps: unknown
  readonly questions: unknown
}

/** Claims tasks of one tool, shared between callers. */
export async function claimReady(
  tx: Transaction,
  store: TaskStore,
  options: ClaimOptions & { readonly tool: string; readonly slots: number },
): Promise<ClaimedTasks> {
  const { shares, isMore } = await options.ready.pick(tx.rows, options.tool, options.slots)
  const leased: LeasedRow[] = []
  for (const [holder, share] of shares) {
    const picked = `SELECT t.number FROM ${store.sql.tasks} AS t
      WHERE t.tool_key = $3 AND ${READY} AND t.holder = $4 AND ${notExpired(store.sql)}
      ORDER BY t.number LIMIT CAST($5 AS bigint)`
    leased.push(...(await lease(tx, store, options, { picked, values: [options.tool, holder, share] })))
  }
  const claimed = await withJournals(tx, store, leased)
  // A task that has failed instead of being run leaves its slot.
  const leavesSlots = claimed.length < leased.length
  return {
    claimed,
    isMore: leased.length > 0 && (isMore || leavesSlots),
    isBusy: shares.size > 0 && leased.length === 0,
  }
}

/** Claims the suspect whose pause was over first: see `attempts.ts`. */
export async function claimSuspect(
  tx: Transaction,
  store: TaskStore,
  options: ClaimOptions & { readonly tools: readonly string[] },
): Promise<readonly ClaimedTask[]> {
  const { sql } = store
  const picked = `SELECT t.number FROM ${sql.tasks} AS t
    WHERE ${sql.among('t.tool_key', '$3', 'text')} AND ${SUSPECT} AND t.retry_at <= ${sql.now} AND ${notExpired(sql)}
    ORDER BY t.retry_at LIMIT 1`
  return withJournals(tx, store, await lease(tx, store, options, { picked, values: [options.tools], isAlone: true }))
}

interface Picked {
  /** A SELECT of the numbers of tasks; its parameters begin with $3. */
  readonly picked: string
  readonly values: readonly SqlValue[]
  readonly isAlone?: boolean
}

async function lease(
  { rows }: Transaction,
  { sql }: TaskStore,
  { worker, holdMs }: ClaimOptions,
  { picked, values, isAlone = false }: Picked,
): Promise<LeasedRow[]> {
  return rows<LeasedRow>(
    `WITH picked (chosen) AS MATERIALIZED (${picked} ${sql.skipLocked})
     UPDATE ${sql.tasks} AS t SET worker = $1, generation = generation + 1,
       leased_until = ${sql.now} + CAST($2 AS bigint), alone = ${Number(isAlone)}
     FROM picked WHERE t.number = picked.chosen
     RETURNING number, generation, id, address, tool, tool_key, call_id, round, attempts, losses,
       expires_at - ${sql.now} AS left_ms`,
    [worker, Math.round(holdMs), ...values],
  )
}

/** The oldest first. A task with damaged rows fails; otherwise it would be claimed again and again. */
async function withJournals(
  tx: Transaction,
  store: TaskStore,
  leased: readonly LeasedRow[],
): Promise<readonly ClaimedTask[]> {
  if (leased.length === 0) return []
  const { sql } = store
  const rows = await tx.rows<JournalRow>(
    `SELECT c.task, c.begun_at, c.args, c.caller, c.own,
       ${sql.jsonArrays('s.key, s.value', `${sql.steps} AS s WHERE s.task = c.task AND s.done = 1`, 's.key')} AS steps,
       ${sql.jsonArrays(
         'q.key, q.question, q.times, q.response, q.answered_by',
         `${sql.questions} AS q WHERE q.task = c.task`,
         'q.place',
       )} AS questions
     FROM ${sql.calls} AS c WHERE ${sql.among('c.task', '$1', 'bigint')}`,
    [leased.map(({ number }) => Number(number))],
  )
  const journals = new Map(rows.map((row) => [Number(row.task), row]))
  const claimed: ClaimedTask[] = []
  for (const row of leased.toSorted((one, other) => Number(one.number) - Number(other.number))) {
    const task = contentOf(row, journals.get(Number(row.number)))
    if (task !== undefined) claimed.push(task)
    else await failDamaged(tx, store, row)
  }
  return claimed
}

function contentOf(row: LeasedRow, journal: JournalRow | undefined): ClaimedTask | undefined {
  try {
    if (journal === undefined) throw unreadable()
    return {
      task: Number(row.number),
      generation: Number(row.generation),
      id: readString(row.id),
      address: row.address,
      toolKey: row.tool_key,
      tool: readString(row.tool),
      args: readObject(journal.args),
      caller: readObject(journal.caller),
      journal: readJournal(row, journal),
      attempts: row.attempts,
      hasLosses: row.losses > 0 || row.attempts > 0,
      leftMs: row.left_ms === null ? null : Number(row.left_ms),
    }
  } catch (error) {
    if (error instanceof StateError && error.code === 'STORE_CORRUPT') return undefined
    throw error
  }
}

function readJournal({ call_id: call, round }: LeasedRow, row: JournalRow): Journal {
  return journalOf({
    call: readString(call),
    round,
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
      by: by === null ? undefined : readString(by),
    })),
  })
}

async function failDamaged(tx: Transaction, store: TaskStore, { id, address, number }: LeasedRow): Promise<void> {
  store.logger().error({ task: id }, 'The stored data of a task is damaged; the task fails.')
  await failTask(tx, store, Number(number), UNREADABLE)
  tx.emit({ kind: 'changed', task: address })
}

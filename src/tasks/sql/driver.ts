/**
 * The interface of the engine to a database. Its statements are in the SQL that SQLite and PostgreSQL share, with the
 * parameters $1, $2 …; a dialect has the few expressions in which they differ.
 */
import type { StateError } from '../../state/internal.ts'

/** The events that engines of one store send each other. Tasks and tools are named by keys, which reveal nothing. */
export type TaskEvent =
  /** The owner of this task should be notified of a change. */
  | { readonly kind: 'changed'; readonly task: string }
  /** The task was cancelled: its run has lost the lease, and its owner can see a change. */
  | { readonly kind: 'cancelled'; readonly task: string }
  /** The task is ready for workers of this tool; its owner may see a change. */
  | { readonly kind: 'ready'; readonly task: string; readonly tool: string }
  /** A new task is ready for workers of this tool. It cannot have watchers yet. */
  | { readonly kind: 'created'; readonly tool: string }

export type SqlValue = string | number | null | readonly (string | number)[]

export interface Statement {
  readonly text: string
  readonly values: readonly SqlValue[]
  /** Whether it returns its rows, or only the number of changed ones. */
  readonly gives: 'rows' | 'count'
}

/**
 * A transaction as a generator: it yields its statements and gets their results. So a synchronous driver runs it in one
 * go, and an asynchronous one awaits each statement. It also yields the events to emit. If a statement fails, the
 * transaction is rolled back and not resumed.
 */
export type Transaction<Result> = Generator<Statement | TaskEvent, Result, unknown>

/** Runs a statement of a transaction. The type of the rows follows from the statement. */
export function* query<Row>(text: string, values: readonly SqlValue[]): Transaction<Row[]> {
  return (yield { text, values, gives: 'rows' }) as Row[]
}

/** Runs a statement that changes rows, and returns their number. In SQLite, RETURNING costs more than most changes. */
export function* change(text: string, values: readonly SqlValue[]): Transaction<number> {
  return (yield { text, values, gives: 'count' }) as number
}

/**
 * Emits an event in this process and to others: after the statements so far, and at the latest when the commit is
 * known.
 */
export function* emit(event: TaskEvent): Transaction<void> {
  yield event
}

export interface Dialect {
  /** The tables, as they are named in statements. */
  readonly tasks: string
  readonly calls: string
  readonly steps: string
  readonly questions: string
  readonly addressees: string
  readonly notices: string
  /** The time of the database, in milliseconds since 1970. */
  readonly now: string
  /** Additional assignments for a change that the owner of a task sees. */
  readonly counted: string
  /** Row locks at the end of a SELECT. Empty if a transaction locks the whole database. */
  readonly forShare: string
  readonly forUpdate: string
  readonly skipLocked: string
  /** A condition: the column is in the list that is this parameter. */
  among(column: string, parameter: string, type: 'text' | 'bigint'): string
  /** A FROM source for a list parameter: one row per text, in the column `value`. */
  each(parameter: string): string
  /** A subquery that returns an array of arrays, for `jsonRows`. */
  jsonArrays(columns: string, source: string, order: string): string
}

/** The callbacks from a driver to its engine. */
export interface DriverListener {
  /** Called with an event that a transaction of this engine has emitted. */
  onEmit(event: TaskEvent): void
  /** Called with an event that any engine has sent, including this one. */
  onEvent(event: TaskEvent): void
  /** Called when another process has written. */
  onForeignWrite(): void
  /** Called when events may have been missed. */
  onGap(): void
}

export interface TaskDriver {
  readonly sql: Dialect
  /** Maximum interval at which the engine looks for lost workers and ready tasks, in milliseconds. */
  readonly pollMs: number
  /** Interval at which expired tasks are removed, in milliseconds. */
  readonly sweepMs: number
  /** The key of texts, for columns that are only looked up. */
  key(...texts: readonly string[]): string
  /** Runs a statement that changes nothing. */
  read<Row>(text: string, values?: readonly SqlValue[]): Promise<Row[]>
  /** Runs a statement that changes rows, in its own transaction. Returns their number. */
  change(text: string, values: readonly SqlValue[]): Promise<number>
  /** The same with RETURNING. Fails after `timeoutMs` if the database does not answer. */
  changeReturning<Row>(text: string, values: readonly SqlValue[], timeoutMs: number): Promise<Row[]>
  /** Runs a transaction, possibly twice. */
  transaction<Result>(begin: () => Transaction<Result>): Promise<Result>
  listen(listener: DriverListener): Promise<void>
  /** Sends an event to all engines of the store, including this one. */
  send(event: TaskEvent): void
  /** Whether this engine has workers or watchers. */
  setActive(isActive: boolean): void
  /** Poll interval of watched tasks, if events may be missed; undefined if they cannot be. */
  readonly watchPollMs: number | undefined
  /** The reason why the store cannot be used, if known without a statement. */
  trouble(): StateError | undefined
  /** Whether the database is locked, so that no process can claim the tasks of another. */
  isLocked(): boolean
  /** A monotonic clock in milliseconds. It includes the sleep of the machine if the times of leases do. */
  elapsedMs(): number
  /** A new id for a worker of this process. */
  newWorkerId(): string
  /** Whether the process of a worker has certainly exited. */
  hasExited(worker: string): boolean
  close(): Promise<void>
}

/** The result of `jsonArrays`, which SQLite returns as text. */
export function jsonRows(value: unknown): unknown[][] {
  const rows: unknown = typeof value === 'string' ? JSON.parse(value) : value
  return Array.isArray(rows) ? (rows as unknown[][]) : []
}

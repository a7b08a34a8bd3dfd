/**
 * What the engine needs of a database. Its statements are in the SQL that SQLite and PostgreSQL share, with the parameters
 * $1, $2 …; a dialect has the few expressions in which they differ.
 */
import type { StateError } from '../../state/internal.ts'

/** The events that engines of one store send each other. Tasks and tools are named by their keys, which reveal nothing. */
export type TaskEvent =
  /** The owner of this task can see a change. */
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
  /** Its rows, or only the number of those that it has changed. */
  readonly gives: 'rows' | 'count'
}

/**
 * A transaction as a generator: it yields its statements and gets what they give. So a driver whose statements return at once runs
 * all of it in one go, and one that waits for responses awaits each. It also yields the events to emit. After a statement
 * that fails it is rolled back and not resumed.
 */
export type Transaction<Result> = Generator<Statement | TaskEvent, Result, unknown>

/** Runs a statement of a transaction. The caller knows the type of the rows from the statement. */
export function* query<Row>(text: string, values: readonly SqlValue[]): Transaction<Row[]> {
  return (yield { text, values, gives: 'rows' }) as Row[]
}

/** Runs a statement that changes rows, and gives their number. In SQLite, RETURNING costs more than most changes. */
export function* change(text: string, values: readonly SqlValue[]): Transaction<number> {
  return (yield { text, values, gives: 'count' }) as number
}

/** Emits an event in this process and to others: not before the statements so far, not later than the commit is known. */
export function* emit(event: TaskEvent): Transaction<void> {
  yield event
}

export interface Dialect {
  /** The tables, as they are named in statements. */
  readonly tasks: string
  readonly calls: string
  readonly steps: string
  readonly questions: string
  /** The time of the database, in milliseconds since 1970. */
  readonly now: string
  /** More assignments for a task whose owner sees a change. */
  readonly counted: string
  /** Row locks, which end a SELECT. Empty where a transaction has the whole database. */
  readonly forShare: string
  readonly forUpdate: string
  readonly skipLocked: string
  /** A condition: the column is in the list that is this parameter. */
  among(column: string, parameter: string, type: 'text' | 'bigint'): string
  /** A source for FROM: a row with the column `value` for each text of the list that is this parameter. */
  each(parameter: string): string
  /** A subquery that gives an array of arrays, for `jsonRows`. */
  jsonArrays(columns: string, source: string, order: string): string
}

/** The engine, as its driver knows it. */
export interface DriverListener {
  /** An event that a transaction of this engine has emitted. */
  onEmit(event: TaskEvent): void
  /** An event that an engine has sent, this one included. */
  onEvent(event: TaskEvent): void
  /** Another process has written. */
  onForeignWrite(): void
  /** Events may have been missed. */
  onGap(): void
}

export interface TaskDriver {
  readonly sql: Dialect
  /** How often the engine looks for lost workers and ready tasks at most, in milliseconds. */
  readonly pollMs: number
  /** How often expired tasks are removed, in milliseconds. */
  readonly sweepMs: number
  /** The value of a column by which something is found. */
  key(...texts: readonly string[]): string
  /** A statement that changes nothing. */
  read<Row>(text: string, values?: readonly SqlValue[]): Promise<Row[]>
  /** A statement that changes rows, as a transaction of its own. Gives their number. */
  change(text: string, values: readonly SqlValue[]): Promise<number>
  /** The same with RETURNING. It fails after `timeoutMs` where the database gives no answer. */
  changeReturning<Row>(text: string, values: readonly SqlValue[], timeoutMs: number): Promise<Row[]>
  /** Runs a transaction. It may begin twice. */
  transaction<Result>(begin: () => Transaction<Result>): Promise<Result>
  listen(listener: DriverListener): Promise<void>
  /** Sends an event to all engines of the store, this one included. */
  send(event: TaskEvent): void
  /** Whether this engine has workers or watchers. */
  setActive(isActive: boolean): void
  /** How often watched tasks are polled because events may be missed; undefined where none are. */
  readonly watchPollMs: number | undefined
  /** Why the store cannot be used, where that is known without a statement. */
  trouble(): StateError | undefined
  /** Whether no process can write now, so that none can claim the tasks of another. */
  isLocked(): boolean
  /** Milliseconds of a monotonic clock. It counts the sleep of the machine where the times of leases do. */
  elapsedMs(): number
  /** A new id for a worker of this process. */
  newWorkerId(): string
  /** Whether the process of a worker has certainly exited. */
  hasExited(worker: string): boolean
  close(): Promise<void>
}

/** What `jsonArrays` gave: SQLite has it as text. */
export function jsonRows(value: unknown): unknown[][] {
  const rows: unknown = typeof value === 'string' ? JSON.parse(value) : value
  return Array.isArray(rows) ? (rows as unknown[][]) : []
}

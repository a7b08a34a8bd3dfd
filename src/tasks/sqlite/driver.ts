/**
 * The driver for a SQLite file, for all processes of one machine.
 *
 * Statements are synchronous; writes go through the queue, which commits several together. Writes of other processes
 * are detected by polling SQLite's `data_version`, the only frequent work of an idle engine.
 */
import { randomUUID } from 'node:crypto'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { isObject } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import { withStoreErrors } from '../../state/stores/index.ts'
import type { Dialect, DriverListener, SqlValue, Statement, TaskDriver, TaskEvent, Transaction } from '../sql/driver.ts'
import { fileClock } from './fileClock.ts'
import { hasExited, identityOf } from './processIdentity.ts'
import { openTaskFile, StoreFile } from './schema.ts'
import { WriteQueue } from './writeQueue.ts'

const FOREIGN_WRITES_MS = 20
/** Time for which a check of the file holds: tasks that are created in one turn of the event loop are checked once. */
const USABLE_MS = 2
const PARAMETER = /\$(now|change|\d+)/g

const SQLITE: Dialect = {
  tasks: 'tasks',
  calls: 'calls',
  steps: 'steps',
  questions: 'questions',
  addressees: 'addressees',
  notices: 'notices',
  now: '$now',
  counted: ', change = $change',
  forShare: '',
  forUpdate: '',
  skipLocked: '',
  among: (column, parameter) => `${column} IN (SELECT value FROM json_each(${parameter}))`,
  each: (parameter) => `json_each(${parameter}) AS each`,
  jsonArrays: (columns, source, order) =>
    `(SELECT json_group_array(json_array(${columns}) ORDER BY ${order}) FROM ${source})`,
}

/** A statement, and the parameters of its placeholders: `now`, `change`, or $1, $2 … by their index. */
interface PreparedStatement {
  readonly statement: StatementSync
  readonly places: readonly ('now' | 'change' | number)[]
}

/** A file that is open. */
interface OpenFile {
  readonly database: DatabaseSync
  readonly file: StoreFile
  readonly now: () => number
  readonly writes: WriteQueue
  readonly statements: Map<string, PreparedStatement>
}

export class SqliteDriver implements TaskDriver {
  readonly sql = SQLITE
  readonly pollMs = 500
  readonly sweepMs = 1000
  readonly watchPollMs = undefined
  readonly #path: string
  readonly #clock: (() => number) | undefined
  #open: OpenFile
  #listener: DriverListener | undefined
  #polling: NodeJS.Timeout | undefined
  #usableUntil = 0
  #seenVersion: unknown
  #seenChange = 0
  /** The last transaction that got a change number. */
  #countedIn: number | undefined
  #lastCounted = 0

  constructor(path: string, clock?: () => number) {
    this.#path = path
    this.#clock = clock
    this.#open = openFile(path, clock)
  }

  key(...texts: readonly string[]): string {
    return JSON.stringify(texts)
  }

  async read<Row>(text: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    return this.#rows<Row>(text, values)
  }

  change(text: string, values: readonly SqlValue[]): Promise<number> {
    return this.#open.writes.write(() => this.#change(text, values))
  }

  changeReturning<Row>(text: string, values: readonly SqlValue[]): Promise<Row[]> {
    return this.#open.writes.write(() => this.#rows<Row>(text, values))
  }

  transaction<Result>(begin: () => Transaction<Result>): Promise<Result> {
    return this.#open.writes.write(() => this.#runAll(begin()))
  }

  /** Emits events before the commit, so that claims join the transaction that makes tasks ready. */
  #runAll<Result>(transaction: Transaction<Result>): Result {
    let next = transaction.next()
    while (next.done !== true) next = transaction.next(this.#runOne(next.value))
    return next.value
  }

  #runOne(step: Statement | TaskEvent): unknown {
    if ('kind' in step) return this.#listener?.onEmit(step)
    return step.gives === 'rows' ? this.#rows(step.text, step.values) : this.#change(step.text, step.values)
  }

  async listen(listener: DriverListener): Promise<void> {
    this.#listener = listener
  }

  send(event: TaskEvent): void {
    this.#listener?.onEvent(event)
  }

  setActive(isActive: boolean): void {
    if (isActive === (this.#polling !== undefined)) return
    clearInterval(this.#polling)
    this.#polling = isActive ? setInterval(() => this.#poll(), FOREIGN_WRITES_MS).unref() : undefined
    if (isActive) this.#seenChange = this.#lastChange()
  }

  /** The fault of the file, if any. A file that was restored in place of the open one is opened first. */
  trouble(): StateError | undefined {
    if (performance.now() < this.#usableUntil) return undefined
    try {
      if (this.#open.file.isReplaced) this.#reopen()
      this.#open.file.assertUsable()
      this.#usableUntil = performance.now() + USABLE_MS
      return undefined
    } catch (error) {
      if (error instanceof StateError) return error
      throw error
    }
  }

  isLocked(): boolean {
    return this.#open.writes.isLocked
  }

  elapsedMs(): number {
    return this.#open.now()
  }

  newWorkerId(): string {
    return JSON.stringify({ ...identityOf(process.pid), id: randomUUID() })
  }

  hasExited(worker: string): boolean {
    const identity: unknown = JSON.parse(worker)
    if (!isObject(identity)) return false
    const { machine, pid, started } = identity
    return hasExited({ machine: String(machine), pid: Number(pid), started: String(started) })
  }

  close(): Promise<void> {
    clearInterval(this.#polling)
    return closeFile(this.#open)
  }

  #reopen(): void {
    const before = this.#open
    this.#open = openFile(this.#path, this.#clock)
    this.#seenChange = 0
    this.#countedIn = undefined
    closeFile(before).catch(() => {}) // the file is gone
    this.#listener?.onGap()
  }

  #rows<Row>(text: string, values: readonly SqlValue[] = []): Row[] {
    return withStoreErrors(() => {
      const { statement, places } = this.#prepare(text)
      return statement.all(...this.#bound(places, values)) as Row[]
    })
  }

  #change(text: string, values: readonly SqlValue[] = []): number {
    return withStoreErrors(() => {
      const { statement, places } = this.#prepare(text)
      return Number(statement.run(...this.#bound(places, values)).changes)
    })
  }

  #bound(places: PreparedStatement['places'], values: readonly SqlValue[]): SQLInputValue[] {
    const now = this.#open.now()
    return places.map((place) => {
      if (place === 'now') return now
      if (place === 'change') return this.#changeNumber()
      const value = values[place] ?? null
      return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
    })
  }

  /** Replaces the parameters by `?`, which SQLite binds faster than named ones. */
  #prepare(text: string): PreparedStatement {
    const { database, statements } = this.#open
    const known = statements.get(text)
    if (known !== undefined) return known
    const names = Array.from(text.matchAll(PARAMETER), ([, name = '']) => name)
    const places = names.map((name) => (name === 'now' || name === 'change' ? name : Number(name) - 1))
    const prepared = { statement: database.prepare(text.replaceAll(PARAMETER, '?')), places }
    statements.set(text, prepared)
    return prepared
  }

  /** The number of the current transaction, which marks the tasks that it changes: engines find changed tasks by it. */
  #changeNumber(): number {
    const { transactionCount } = this.#open.writes
    if (this.#countedIn !== transactionCount) {
      this.#change('UPDATE changes SET last = last + 1')
      this.#lastCounted = this.#lastChange()
      this.#countedIn = transactionCount
    }
    return this.#lastCounted
  }

  #lastChange(): number {
    return Number(this.#rows<{ last: number }>('SELECT last FROM changes')[0]?.last)
  }

  /** Polls for writes of other processes. A failing store is logged by the jobs of the engine, which fail as well. */
  #poll(): void {
    try {
      const version = this.#rows<{ data_version: number }>('PRAGMA data_version')[0]?.data_version
      if (version === this.#seenVersion) return
      this.#seenVersion = version
      this.#notifyChanges()
      this.#listener?.onForeignWrite()
    } catch (error) {
      if (!(error instanceof StateError)) throw error
    }
  }

  #notifyChanges(): void {
    const last = this.#lastChange()
    if (last === this.#seenChange) return
    const changed = this.#rows<{ address: string }>('SELECT address FROM tasks WHERE change > 0 AND change > $1', [
      this.#seenChange,
    ])
    this.#seenChange = last
    for (const { address } of changed) this.#listener?.onEvent({ kind: 'changed', task: address })
  }
}

function openFile(path: string, clock: (() => number) | undefined): OpenFile {
  const database = openTaskFile(path)
  try {
    const file = new StoreFile(database, path)
    const now = fileClock(database, clock)
    return { database, file, now, writes: new WriteQueue(database), statements: new Map() }
  } catch (error) {
    database.close()
    throw error
  }
}

async function closeFile({ writes, database }: OpenFile): Promise<void> {
  await writes.close()
  database.close()
}

/**
 * The driver for PostgreSQL, for any number of machines. All times are the database's, so the clocks of machines do not
 * matter.
 */
import { randomUUID } from 'node:crypto'
import { isObject } from '../../protocol/index.ts'
import type {
  Dialect,
  DriverListener,
  EngineSettings,
  SqlValue,
  Statement,
  TaskDriver,
  TaskEvent,
  Transaction,
} from '../../tasks/internal.ts'
import type { Database } from '../database.ts'
import { digest } from '../digest.ts'
import type { NotificationListener } from '../notifier.ts'
import { type Sql, STATEMENT_MS } from '../sql.ts'

// A shorter timeout would also hit a busy process.
const MIN_IDLE_MS = 1000
const WATCH_POLL_MS = 2000
const WATCH_POLL_MS_WITHOUT_NOTIFIER = 500
// The length of a key, in hexadecimal digits of a SHA-256.
const KEY_LENGTH = 32

export class PostgresDriver implements TaskDriver, NotificationListener {
  readonly sql: Dialect
  readonly pollMs = 1000
  readonly sweepMs = 30_000
  readonly #database: Database
  readonly #settings: EngineSettings
  #listener: DriverListener | undefined

  constructor(database: Database, settings: EngineSettings) {
    this.#database = database
    this.#settings = settings
    this.sql = dialect(database.names.tables)
  }

  get watchPollMs(): number {
    return this.#database.notifier.isListening ? WATCH_POLL_MS : WATCH_POLL_MS_WITHOUT_NOTIFIER
  }

  key(...texts: readonly string[]): string {
    return digest(...texts)
      .toString('hex')
      .slice(0, KEY_LENGTH)
  }

  async read<Row>(text: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    return (await this.#statements()).rows<Row>(text, [...values])
  }

  async change(text: string, values: readonly SqlValue[]): Promise<number> {
    return (await this.#statements()).change(text, [...values])
  }

  async changeReturning<Row>(text: string, values: readonly SqlValue[], timeoutMs: number): Promise<Row[]> {
    return (await this.#statements(timeoutMs)).rows<Row>(text, [...values])
  }

  /**
   * Runs a transaction. If this process freezes inside, PostgreSQL rolls it back in time for others to reclaim the
   * task.
   */
  async transaction<Result>(begin: () => Transaction<Result>): Promise<Result> {
    const idleMs = Math.max(this.#settings.leaseMs / 2, MIN_IDLE_MS)
    const events: TaskEvent[] = []
    const result = await this.#database.transaction({ idleMs, statementMs: this.#statementMs }, async (sql) => {
      const transaction = begin()
      let next = transaction.next()
      while (next.done !== true) {
        const { value } = next
        if ('kind' in value) events.push(value)
        next = transaction.next('kind' in value ? undefined : await run(sql, value))
      }
      return next.value
    })
    for (const event of events) this.#listener?.onEmit(event)
    return result
  }

  async listen(listener: DriverListener): Promise<void> {
    this.#listener = listener
    await this.#database.notifier.subscribe(this)
  }

  send(event: TaskEvent): void {
    this.#database.notifier.notify(JSON.stringify(event))
  }

  onNotification(message: string): void {
    const event = readEvent(message)
    if (event !== undefined) this.#listener?.onEvent(event)
  }

  onGap(): void {
    this.#listener?.onGap()
  }

  setActive(): void {}

  trouble(): undefined {}

  isLocked(): boolean {
    return false
  }

  elapsedMs(): number {
    return performance.now()
  }

  newWorkerId(): string {
    return randomUUID()
  }

  hasExited(): boolean {
    return false
  }

  /** Leaves the connection open, because others may share it. */
  async close(): Promise<void> {
    await this.#database.notifier.unsubscribe(this)
  }

  #statements(timeoutMs = this.#statementMs): Promise<Sql> {
    return this.#database.statements(timeoutMs)
  }

  // Large entries take longer: allows for a megabyte a second.
  get #statementMs(): number {
    return Math.max(STATEMENT_MS, this.#settings.maxEntryBytes / 1000)
  }
}

function run(sql: Sql, { text, values, gives }: Statement): Promise<unknown> {
  return gives === 'rows' ? sql.rows(text, [...values]) : sql.change(text, [...values])
}

function dialect(schema: string): Dialect {
  return {
    tasks: `${schema}.tasks`,
    calls: `${schema}.calls`,
    steps: `${schema}.steps`,
    questions: `${schema}.questions`,
    addressees: `${schema}.addressees`,
    notices: `${schema}.notices`,
    now: '(extract(epoch FROM now()) * 1000)::bigint',
    counted: '',
    forShare: 'FOR SHARE',
    forUpdate: 'FOR NO KEY UPDATE',
    skipLocked: 'FOR UPDATE SKIP LOCKED',
    among: (column, parameter, type) => `${column} = ANY(${parameter}::${type}[])`,
    each: (parameter) => `unnest(${parameter}::text[]) AS each (value)`,
    jsonArrays: (columns, source, order) =>
      `(SELECT json_agg(json_build_array(${columns}) ORDER BY ${order}) FROM ${source})`,
  }
}

/** Undefined for an event that only a newer version knows, or that another user of the notifier sent. */
function readEvent(message: string): TaskEvent | undefined {
  const event = parsed(message)
  if (!isObject(event)) return undefined
  const { kind, task, tool } = event
  const hasTask = typeof task === 'string'
  if ((kind === 'changed' || kind === 'cancelled') && hasTask) return { kind, task }
  if (typeof tool !== 'string') return undefined
  if (kind === 'ready' && hasTask) return { kind, task, tool }
  return kind === 'created' ? { kind, tool } : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

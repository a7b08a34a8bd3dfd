/** Runs SQL statements, each on its own or several in a transaction. */
import { createHash } from 'node:crypto'
import { isServerError, withPostgresErrors } from './errors.ts'

/** The part of `pg.Pool` that is used here, so that programs without PostgreSQL do not need the types of `pg`. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  query(query: PostgresQuery): Promise<PostgresResult>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'acquire', listener: (client: PostgresClient) => void): unknown
  readonly options?: { readonly max?: number | undefined }
}

export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  release(error?: Error | boolean): void
}

export interface PostgresQuery {
  text: string
  values?: unknown[]
  name?: string
  query_timeout?: number
}

interface PostgresResult {
  rows: unknown[]
  rowCount?: number | null
}

export interface Sql {
  /** The rows of one statement. The caller knows their type from the statement. */
  rows<Row>(text: string, values?: unknown[]): Promise<Row[]>
  /** The number of rows that one statement has changed. */
  change(text: string, values?: unknown[]): Promise<number>
  /** Statements without parameters, with a long timeout. */
  script(text: string): Promise<void>
}

const SCRIPT_TIMEOUT_MS = 600_000

// Each statement is planned once, with indexes: otherwise the plan for an empty table would stay when the table has
// grown.
const PLANNING = 'SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off'

/**
 * Timeout of a statement. After that its connection is closed: it may be dead, and dead connections would use up the
 * pool.
 */
export const STATEMENT_MS = 6000

/** Runs each statement in its own transaction. */
export function autocommit(pool: PostgresPool, statementMs = STATEMENT_MS): Sql {
  return statementsOn((query) => withPostgresErrors(() => pool.query(query)), statementMs)
}

export interface TransactionLimits {
  /**
   * Maximum pause between two statements. A transaction of a suspended process is then rolled back, so that others do
   * not wait for its locks.
   */
  readonly idleMs: number
  /** Timeout of each statement. @default 6000 */
  readonly statementMs?: number
}

export function runTransaction<Result>(
  pool: PostgresPool,
  { idleMs, statementMs = STATEMENT_MS }: TransactionLimits,
  run: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  const limit = { query_timeout: statementMs }
  const begin = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${Math.ceil(idleMs)}; ${PLANNING}`
  return withClient(pool, async (client) => {
    await client.query({ text: begin, ...limit })
    const result = await run(statementsOn((query) => client.query(query), statementMs))
    await client.query({ text: 'COMMIT', ...limit })
    return result
  })
}

/**
 * Borrows a client from the pool. After an error the client is returned only if the transaction could be rolled back.
 */
function withClient<Result>(pool: PostgresPool, run: (client: PostgresClient) => Promise<Result>): Promise<Result> {
  return withPostgresErrors(async () => {
    const client = await pool.connect()
    client.on('error', ignoreError)
    let broken: Error | undefined
    try {
      return await run(client)
    } catch (error) {
      broken = await rollBack(client, error)
      throw error
    } finally {
      client.removeListener('error', ignoreError)
      client.release(broken)
    }
  })
}

/** Ignores the error, which the running statement reports. Without a listener Node would end the process. */
function ignoreError(): void {}

async function rollBack(client: PostgresClient, error: unknown): Promise<Error | undefined> {
  // Without a response the state of the connection is unknown.
  if (!isServerError(error)) return new Error('The connection is in an unknown state.', { cause: error })
  try {
    await client.query({ text: 'ROLLBACK' })
    return undefined
  } catch (cause) {
    return new Error('The transaction cannot be rolled back.', { cause })
  }
}

function statementsOn(send: (query: PostgresQuery) => Promise<PostgresResult>, statementMs: number): Sql {
  const sendPrepared = (text: string, values: unknown[] = []) =>
    send({ name: statementName(text), text, values, query_timeout: Math.ceil(statementMs) })
  return {
    rows: async <Row>(text: string, values?: unknown[]) => (await sendPrepared(text, values)).rows as Row[],
    change: async (text, values) => (await sendPrepared(text, values)).rowCount ?? 0,
    script: async (text) => void (await send({ text, query_timeout: SCRIPT_TIMEOUT_MS })),
  }
}

const statementNames = new Map<string, string>()

/**
 * The name is a digest of the text, so each connection plans a statement once: planning takes longer than most
 * statements.
 */
function statementName(text: string): string {
  let name = statementNames.get(text)
  if (name === undefined) {
    name = `pannier_${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`
    statementNames.set(text, name)
  }
  return name
}

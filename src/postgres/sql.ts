/** Statements, on their own or inside a transaction. */
import { createHash } from 'node:crypto'
import { isServerError, withPostgresErrors } from './errors.ts'

/** Runs statements. pg-boss takes it as `db`, so its statements can join our transactions. */
export interface Sql {
  /** As pg-boss takes a connection, so that its jobs change in our transactions. */
  executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
  /** The rows of one statement; what is in them is said by the statement, and by the caller. */
  rows<Row>(text: string, values?: unknown[]): Promise<Row[]>
  /** Statements without parameters, which may take long. */
  script(text: string): Promise<void>
}

const SCRIPT_TIMEOUT_MS = 600_000

// Each statement is planned once, and by index: a plan that was right for the empty table is kept when it has grown.
const PLANNING = 'SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off'

/** Each statement is a transaction of its own. */
export function autocommit(pool: PostgresPool): Sql {
  return statementsOn((query) => withPostgresErrors(() => pool.query(query)))
}

/**
 * All that `run` does happens, or nothing. A process that is held up for `idleMs` in the middle loses the transaction and
 * its connection, so that nobody waits for its locks any longer.
 */
export function runTransaction<Result>(
  pool: PostgresPool,
  idleMs: number,
  run: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  const begin = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${Math.ceil(idleMs)}; ${PLANNING}`
  return withClient(pool, async (client) => {
    await client.query({ text: begin })
    const result = await run(statementsOn((query) => client.query(query)))
    await client.query({ text: 'COMMIT' })
    return result
  })
}

/** Takes a client for a while. One that failed goes back only if it could undo what it had begun. */
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

/** The statement under way fails with the connection, and says so. Without a listener the process would end. */
function ignoreError(): void {}

async function rollBack(client: PostgresClient, error: unknown): Promise<Error | undefined> {
  // Nobody knows what a server is doing that has not answered.
  if (!isServerError(error)) return new Error('The connection is in an unknown state.', { cause: error })
  try {
    await client.query({ text: 'ROLLBACK' })
    return undefined
  } catch (cause) {
    return new Error('The connection cannot undo what it began.', { cause })
  }
}

function statementsOn(send: (query: PostgresQuery) => Promise<PostgresResult>): Sql {
  return {
    rows: async <Row>(text: string, values: unknown[] = []) => (await send(prepared(text, values))).rows as Row[],
    script: async (text) => void (await send({ text, query_timeout: SCRIPT_TIMEOUT_MS })),
    executeSql: (text, values = []) => send(prepared(text, values)),
  }
}

const statementNames = new Map<string, string>()

/** Named after its text, a statement is planned once per connection: planning costs more than most of them do. */
function prepared(text: string, values: unknown[]): PostgresQuery {
  let name = statementNames.get(text)
  if (name === undefined) {
    name = `pannier_${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`
    statementNames.set(text, name)
  }
  return { name, text, values }
}

/** What we use of a pool of `pg`, so that nobody needs its types who does not use it. */
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
}

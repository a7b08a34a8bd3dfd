/**
 * The connection to PostgreSQL that engines, ledgers, stores and buses of one process share.
 *
 * - It loads `pg`, connects and migrates the schema at the first use. After a failure the next use tries again.
 * - There are at most `maxConnections` connections. While a task engine or a bus is open, the notifier uses one of them.
 * - A pool that the application passed in is never ended here.
 */
import { assertOptionNames, type OptionNames } from '../protocol/index.ts'
import { StateError } from '../state/internal.ts'
import { withPostgresErrors } from './errors.ts'
import { Notifier } from './notifier.ts'
import { migrate, type SchemaNames, schemaNames } from './schema.ts'
import {
  autocommit,
  runTransaction,
  type PostgresClient,
  type PostgresPool,
  type Sql,
  type TransactionLimits,
} from './sql.ts'

export interface PostgresOptions {
  /** `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. Give this or `pool`. */
  url?: string
  /** A `pg.Pool` of at least two connections. */
  pool?: PostgresPool
  /** The name of our schema. @default 'pannier' */
  schema?: string
  /** Maximum number of connections, if `url` is given. @default 10 */
  maxConnections?: number
}

const POSTGRES_OPTIONS: OptionNames<PostgresOptions> = { url: true, pool: true, schema: true, maxConnections: true }

/** The pool and the migrated schema that engines, ledgers, stores and buses of one process share. */
export interface PostgresConnection {
  /** Closes the connections, unless the pool was passed in. Close engines and buses first. */
  close(): Promise<void>
}

/** A database for engines, ledgers, stores and buses. It connects at the first use. */
export function postgres(options: PostgresOptions): PostgresConnection {
  assertOptionNames(options, POSTGRES_OPTIONS, 'postgres()')
  assertOptions(options)
  return new Database(options)
}

export function databaseOf(connection: PostgresConnection): Database {
  if (connection instanceof Database) return connection
  throw new StateError('STATE_OPTION', 'The connection must be the return value of postgres().')
}

const CONNECT_TIMEOUT_MS = 5000
// Timeout of migrations. Other statements have a shorter one.
const QUERY_TIMEOUT_MS = 30_000
const TCP_KEEP_ALIVE_MS = 10_000

export class Database {
  readonly names: SchemaNames
  readonly notifier: Notifier
  readonly #options: PostgresOptions
  #opening: Promise<PostgresPool> | undefined
  #pool: PostgresPool | undefined
  #isClosed = false

  constructor(options: PostgresOptions) {
    this.#options = options
    this.names = schemaNames(options.schema ?? 'pannier')
    this.notifier = new Notifier(this.names.channel, () => this.ready())
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Resolves with the pool once the schema is migrated. */
  ready(): Promise<PostgresPool> {
    if (this.#isClosed) return Promise.reject(closedError())
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** Runs one statement, in its own transaction. */
  async rows<Row>(text: string, values?: unknown[]): Promise<Row[]> {
    return (await this.statements()).rows<Row>(text, values)
  }

  /** Runs each statement in its own transaction. A statement that takes longer than `statementMs` fails. */
  async statements(statementMs?: number): Promise<Sql> {
    return autocommit(await this.ready(), statementMs)
  }

  async transaction<Result>(limits: TransactionLimits, run: (sql: Sql) => Promise<Result>): Promise<Result> {
    return runTransaction(await this.ready(), limits, run)
  }

  /** Closes the connections, unless the pool was passed in. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.notifier.stop()
    await this.#opening?.catch(() => {})
    if (this.#options.pool === undefined) await this.#pool?.end()
  }

  async #open(): Promise<PostgresPool> {
    return withPostgresErrors(async () => {
      this.#pool ??= withErrorListeners(this.#options.pool ?? (await newPool(this.#options)))
      await migrate(this.#pool, this.names)
      return this.#pool
    })
  }
}

function assertOptions({ url, pool, maxConnections = 10 }: PostgresOptions): void {
  if ((url === undefined) === (pool === undefined)) throw optionError('give either url or pool')
  if (url !== undefined && !/^postgres(ql)?:$/.test(URL.parse(url)?.protocol ?? '')) {
    throw optionError('url is postgres://USER:PASSWORD@HOST:PORT/DATABASE')
  }
  if (!Number.isInteger(maxConnections) || maxConnections < 2)
    throw optionError('maxConnections is a whole number, at least 2')
  if ((pool?.options?.max ?? 2) < 2) throw optionError('pool must allow at least two connections')
}

/** The message never quotes the options: the address contains a password. */
function optionError(advice: string): StateError {
  return new StateError('STATE_OPTION', `The options of postgres() are wrong: ${advice}.`)
}

function closedError(): StateError {
  return new StateError('STORE_UNAVAILABLE', 'The connection to the database was closed by this program.')
}

/** Rejects if the optional package `pg` is missing; the error says what to install. */
export async function assertPgInstalled(): Promise<void> {
  await loadPg()
}

// Not exported, so that the public types do not depend on those of `pg`.
async function loadPg() {
  try {
    return await import('pg')
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing) throw cause
    throw new StateError('STORE_UNAVAILABLE', 'PostgreSQL needs the package pg; run `npm install pg`.', { cause })
  }
}

async function newPool({ url, maxConnections = 10 }: PostgresOptions): Promise<PostgresPool> {
  const { default: pg } = await loadPg()
  return new pg.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: TCP_KEEP_ALIVE_MS,
    allowExitOnIdle: true,
    application_name: 'pannier',
  })
}

/**
 * Adds an error listener to each client. A broken connection emits 'error', which would end the process without a
 * listener. The pool listens on idle clients only and stops when it hands one out, before the borrower adds its own
 * listener.
 */
function withErrorListeners(pool: PostgresPool): PostgresPool {
  const known = new WeakSet<PostgresClient>()
  pool.on('error', () => {})
  pool.on('acquire', (client) => {
    if (known.has(client)) return
    known.add(client)
    client.on('error', () => {})
  })
  return pool
}

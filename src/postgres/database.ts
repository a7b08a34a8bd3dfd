/**
 * A database that engines, ledgers and stores of one process share.
 *
 * - Nothing is loaded, connected or created before it is needed; what failed then is tried again the next time.
 * - There are never more than `maxConnections` connections. While an engine is open, one of them listens.
 * - A pool that was given stays its giver's: it is used, and never ended.
 */
import type * as Pg from 'pg'
import type * as Boss from 'pg-boss'
import { StateError } from '../state/internal.ts'
import { withPostgresErrors } from './errors.ts'
import { Notifier } from './notifier.ts'
import { migrate, type SchemaNames, schemaNames } from './schema.ts'
import { autocommit, runTransaction, type PostgresClient, type PostgresPool, type Sql } from './sql.ts'

const CONNECT_TIMEOUT_MS = 5000
const QUERY_TIMEOUT_MS = 30_000
const KEEP_ALIVE_MS = 10_000

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

  /** The pool, once the schema is up to date. */
  ready(): Promise<PostgresPool> {
    if (this.#isClosed) return Promise.reject(closedError())
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** Statements that are each a transaction of their own. */
  async statements(): Promise<Sql> {
    return autocommit(await this.ready())
  }

  /** All that `run` does happens, or nothing. `idleMs` is how long it may be held up between two statements. */
  async transaction<Result>(idleMs: number, run: (sql: Sql) => Promise<Result>): Promise<Result> {
    return runTransaction(await this.ready(), idleMs, run)
  }

  /** Ends the connections that were made here. */
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

function closedError(): StateError {
  return new StateError('STORE_UNAVAILABLE', 'The connection to the database was closed by this program.')
}

async function newPool({ url, maxConnections = 10 }: PostgresOptions): Promise<PostgresPool> {
  const { default: pg } = await loadPg()
  return new pg.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    allowExitOnIdle: true,
    application_name: 'pannier',
  })
}

/**
 * A connection that breaks says so by an event, and unheard that event would end the process. The pool hears those that
 * are idle, and stops when it hands one over: whoever waited for it hears it too late if it breaks at that moment.
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

/** What engines, ledgers and stores of one process share: connections, and a schema that is up to date. */
export interface PostgresConnection {
  /** Ends the connections that were made here. Close engines first. */
  close(): Promise<void>
}

/** A database for engines, ledgers and stores. It is connected to when it is first used. */
export function postgres(options: PostgresOptions): PostgresConnection {
  assertOptions(options)
  return new Database(options)
}

/** What is behind a connection. */
export function databaseOf(connection: PostgresConnection): Database {
  if (connection instanceof Database) return connection
  throw new StateError('STATE_OPTION', 'A connection to PostgreSQL is what postgres() gives.')
}

export interface PostgresOptions {
  /** `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. Give this or `pool`. */
  url?: string
  /** A pool of `pg` with room for at least two connections. */
  pool?: PostgresPool
  /** Ours is the schema of this name; that of pg-boss has `_jobs` after it. @default 'pannier' */
  schema?: string
  /** How many connections at most, where `url` is given. @default 10 */
  maxConnections?: number
}

function assertOptions({ url, pool, maxConnections = 10 }: PostgresOptions): void {
  if ((url === undefined) === (pool === undefined)) throw optionError('give either url or pool')
  if (url !== undefined && !/^postgres(ql)?:$/.test(URL.parse(url)?.protocol ?? '')) {
    throw optionError('url is postgres://USER:PASSWORD@HOST:PORT/DATABASE')
  }
  if (!Number.isInteger(maxConnections) || maxConnections < 2)
    throw optionError('maxConnections is a whole number from 2 on')
  if ((pool?.options?.max ?? 2) < 2) throw optionError('pool needs room for at least two connections')
}

/** Never with what was given: an address has a password in it. */
function optionError(advice: string): StateError {
  return new StateError('STATE_OPTION', `The options of postgres() are wrong: ${advice}.`)
}

/** `pg` and `pg-boss` are installed by those who use PostgreSQL, and loaded when it is. */

function loadPg(): Promise<typeof Pg> {
  return installed(import('pg'))
}

export function loadPgBoss(): Promise<typeof Boss> {
  return installed(import('pg-boss'))
}

async function installed<Module>(loading: Promise<Module>): Promise<Module> {
  try {
    return await loading
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing) throw cause
    throw new StateError(
      'STORE_UNAVAILABLE',
      'PostgreSQL needs the packages pg and pg-boss; run `npm install pg pg-boss@12.35.0`.',
      { cause },
    )
  }
}

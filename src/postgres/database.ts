/**
 * A database that engines, ledgers and stores of one process share.
 *
 * - Nothing is loaded, connected or created before it is needed; what failed then is tried again the next time.
 * - There are never more than `maxConnections` connections. While an engine is open, one of them listens.
 * - A pool that was given stays its giver's: it is used, and never ended.
 */
import { StateError } from '../state/index.ts'
import { Bell } from './notifier.ts'
import { migrate } from './schema.ts'
import type { PostgresOptions } from './options.ts'
import { loadPg } from './packages.ts'
import type { PostgresClient, PostgresPool } from './pool.ts'
import { type SchemaNames, schemaNames } from './schemaNames.ts'
import { autonomous, inTransaction, type Sql } from './sql.ts'
import { saying } from './errors.ts'

const CONNECT_TIMEOUT_MS = 5000
const QUERY_TIMEOUT_MS = 30_000
const KEEP_ALIVE_MS = 10_000

export class Database {
  readonly names: SchemaNames
  readonly bell: Bell
  readonly #options: PostgresOptions
  #opening: Promise<PostgresPool> | undefined
  #pool: PostgresPool | undefined
  #isClosed = false

  constructor(options: PostgresOptions) {
    this.#options = options
    this.names = schemaNames(options.schema ?? 'pannier')
    this.bell = new Bell(this.names.channel, () => this.ready())
  }

  /** The pool, once the schema is up to date. */
  ready(): Promise<PostgresPool> {
    if (this.#isClosed) return Promise.reject(closed())
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** Statements that are each a transaction of their own. */
  async statements(): Promise<Sql> {
    return autonomous(await this.ready())
  }

  /** All that `run` does happens, or nothing. `idleMs` is how long it may be held up between two statements. */
  async transaction<Result>(idleMs: number, run: (sql: Sql) => Promise<Result>): Promise<Result> {
    return inTransaction(await this.ready(), idleMs, run)
  }

  /** Ends the connections that were made here. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.bell.stop()
    await this.#opening?.catch(() => {})
    if (this.#options.pool === undefined) await this.#pool?.end()
  }

  async #open(): Promise<PostgresPool> {
    return saying(async () => {
      this.#pool ??= heard(this.#options.pool ?? (await newPool(this.#options)))
      await migrate(this.#pool, this.names)
      return this.#pool
    })
  }
}

function closed(): StateError {
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
function heard(pool: PostgresPool): PostgresPool {
  const known = new WeakSet<PostgresClient>()
  pool.on('error', () => {})
  pool.on('acquire', (client) => {
    if (known.has(client)) return
    known.add(client)
    client.on('error', () => {})
  })
  return pool
}

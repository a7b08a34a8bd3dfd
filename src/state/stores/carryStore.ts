import { assertOptionNames, type OptionNames } from '../../protocol/index.ts'
import { StateError } from '../errors.ts'
import { ExpiringMap, makeSweeper } from './expiry.ts'
import { assertId } from './ledger.ts'
import { openStateFile, SQLITE_FILE_OPTIONS, type SqliteFileOptions, withStoreErrors } from './sqliteFile.ts'
import { SqliteWrites } from './sqliteWrites.ts'

/**
 * A store for sealed journals on the server's side, in place of the client. It holds sealed tokens, which reveal no answer to a
 * reader of the store, and are verified like those from a client.
 */
export interface CarryStore {
  /** Stores a token until a time, in seconds since 1970. A second put with the same id replaces the first. */
  put(id: string, token: string, expiresAt: number): Promise<void>
  /** The token; undefined if it is missing or expired. */
  get(id: string): Promise<string | undefined>
  delete(id: string): Promise<void>
}

export interface MemoryCarryStoreOptions {
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
  /** The maximum number of live tokens. Further ones are refused, so that no waiting call is lost. @default 10000 */
  maxEntries?: number
}

const MEMORY_OPTIONS: OptionNames<MemoryCarryStoreOptions> = { clock: true, maxEntries: true }

/** A carry store in the memory of this process. */
export function memoryCarryStore(options: MemoryCarryStoreOptions = {}): CarryStore {
  assertOptionNames(options, MEMORY_OPTIONS, 'memoryCarryStore')
  const { clock = Date.now, maxEntries = 10_000 } = options
  const tokens = new ExpiringMap<string>(clock)

  return {
    async put(id, token, expiresAt) {
      assertId(id)
      if (tokens.get(id) === undefined && tokens.size >= maxEntries) throw full(maxEntries)
      tokens.set(id, token, expiresAt * 1000)
    },

    async get(id) {
      return tokens.get(id)
    },

    async delete(id) {
      tokens.delete(id)
    },
  }
}

function full(maxEntries: number): StateError {
  const advice = 'raise maxEntries, shorten ttlSeconds, or use a store on disk'
  return new StateError('STORE_FULL', `The store has ${maxEntries} live tokens and accepts no more; ${advice}.`)
}

/** A carry store for all processes of one machine. Its statements are synchronous; a write waits up to 5 s for a lock. */
export function sqliteCarryStore(options: SqliteFileOptions): CarryStore & { close(): void } {
  assertOptionNames(options, SQLITE_FILE_OPTIONS, 'sqliteCarryStore')
  const { path, clock = Date.now } = options
  const database = openStateFile(path)
  const writes = new SqliteWrites(database)
  const statements = withStoreErrors(() => ({
    put: database.prepare(
      `INSERT INTO tokens (id, expires_at, token) VALUES (:id, :expiresAt, :token)
       ON CONFLICT (id) DO UPDATE SET expires_at = :expiresAt, token = :token`,
    ),
    get: database.prepare('SELECT token FROM tokens WHERE id = :id AND expires_at > :now'),
    delete: database.prepare('DELETE FROM tokens WHERE id = :id'),
    sweep: database.prepare('DELETE FROM tokens WHERE expires_at <= :now'),
  }))
  const sweep = makeSweeper(clock, (now) => statements.sweep.run({ now }))

  return {
    async put(id, token, expiresAt) {
      assertId(id)
      await writes.run(() => {
        sweep()
        statements.put.run({ id, token, expiresAt: Math.ceil(expiresAt * 1000) })
      })
    },

    async get(id) {
      const row = withStoreErrors(() => statements.get.get({ id, now: clock() }))
      return typeof row?.token === 'string' ? row.token : undefined
    },

    async delete(id) {
      await writes.run(() => statements.delete.run({ id }))
    },

    close() {
      database.close()
    },
  }
}

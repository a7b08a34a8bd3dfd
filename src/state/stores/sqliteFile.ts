/**
 * Opens a SQLite file of ours.
 *
 * Invariants:
 * - the file is readable by its owner only, from the moment it exists, and so are its log and its index;
 * - a file of another program, of a newer version or with damage is refused, and never written to;
 * - a file of an older version is brought up to date, by one process, while others that open it wait;
 * - several processes of one machine may use it at once (write-ahead log, 5 s of patience with each other).
 */
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { StateError } from '../errors.ts'

export const BUSY_TIMEOUT_MS = 5000

// SQLite's primary result codes.
const BUSY = new Set([5, 6])
const READ_ONLY = new Set([3, 8])
const FULL = new Set([13])
const DAMAGED = new Set([1, 11, 26]) // a missing table or column, a malformed image, not a database

/** What tells one kind of file from another. */
export interface SqliteFormat {
  readonly applicationId: number
  /** What makes each version of the schema from the one before, the first from nothing. Never changed, only added to. */
  readonly migrations: readonly string[]
  readonly pragmas: string
  /** Whether a folder that is missing is made, or is taken for a mistake. */
  readonly makesFolder: boolean
  /** What the file is called in messages. */
  readonly noun: string
}

export interface SqliteFileOptions {
  /** The file; it is made when there is none. `:memory:` is for tests. */
  path: string
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
}

export function openSqliteFile(path: string, format: SqliteFormat): DatabaseSync {
  if (typeof path !== 'string' || path === '') throw new TypeError('A store in a file needs the "path" of that file.')
  return withStoreErrors(() => {
    if (path !== ':memory:') makeFile(path, format)
    const database = new (sqliteClass())(path, { timeout: BUSY_TIMEOUT_MS })
    try {
      // Reading comes first, so that a file of somebody else stays as it is.
      if (!isEmpty(database)) assertOurs(database, format)
      if (path !== ':memory:') makePrivate(path)
      prepareFile(database, format)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  })
}

/** Runs something against the file, and says what to do when the file fails. What else fails is passed on as it is. */
export function withStoreErrors<Result>(run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    throw isOfFile(error) ? storeError(error) : error
  }
}

/** Runs something in one write transaction: all of it happens, alone, or nothing. */
export function inTransaction<Result>(database: DatabaseSync, run: () => Result): Result {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = run()
    database.exec('COMMIT')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

// Loaded when first used: other runtimes lack it, and Node 22 warns that it is experimental.
function sqliteClass(): typeof DatabaseSync {
  const module = process.getBuiltinModule('node:sqlite')
  if (module) return module.DatabaseSync
  throw new StateError(
    'STORE_UNAVAILABLE',
    'This runtime has no node:sqlite; use Node 22.18 or newer, or another store.',
  )
}

function makeFile(path: string, { makesFolder }: SqliteFormat): void {
  if (makesFolder) mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  closeSync(openSync(path, 'a', 0o600))
}

// SQLite gives the log and the index the mode of the file; those that lie there may have been made before.
function makePrivate(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const stats = statSync(file, { throwIfNoEntry: false })
    if (stats && (stats.mode & 0o077) !== 0) chmodSync(file, 0o600)
  }
}

function prepareFile(database: DatabaseSync, format: SqliteFormat): void {
  patiently(() => database.exec('PRAGMA journal_mode = WAL'))
  database.exec(format.pragmas)
  if (isEmpty(database) || versionOf(database) < format.migrations.length) {
    inTransaction(database, () => migrate(database, format))
  }
  assertOurs(database, format)
}

/** Looks again, under the lock, where the file stands: another process may have done it in the meantime. */
function migrate(database: DatabaseSync, format: SqliteFormat): void {
  if (!isEmpty(database)) assertOurs(database, format)
  const { applicationId, migrations } = format
  for (const migration of migrations.slice(versionOf(database))) database.exec(migration)
  database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}`)
}

// Changing the journal mode does not wait for other processes as statements do, so it is tried again.
function patiently(run: () => void): void {
  const deadline = performance.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      return run()
    } catch (error) {
      if (!BUSY.has(resultCode(error)) || performance.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}

function isEmpty(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
}

function assertOurs(database: DatabaseSync, { applicationId, migrations, noun }: SqliteFormat): void {
  if (pragma(database, 'application_id') !== applicationId) {
    throw new StateError('STORE_CORRUPT', `The file is a database, but not ${noun}; give it a path of its own.`)
  }
  const found = versionOf(database)
  if (found <= migrations.length) return
  const advice = 'upgrade this program, or give it a path of its own'
  throw new StateError(
    'STORE_NEWER',
    `The file has schema ${found}, this version knows ${migrations.length}; ${advice}.`,
  )
}

function versionOf(database: DatabaseSync): number {
  return pragma(database, 'user_version')
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name])
}

function storeError(cause: unknown): StateError {
  const code = resultCode(cause)
  if (DAMAGED.has(code)) {
    const advice = 'restore it from a backup, or move it away and let a new one be made'
    return new StateError('STORE_CORRUPT', `The file is not a store of ours or is damaged; ${advice}.`, { cause })
  }
  if (BUSY.has(code)) {
    const advice = 'look for a process that holds a transaction open'
    return new StateError('STORE_UNAVAILABLE', `The file stayed locked for ${BUSY_TIMEOUT_MS} ms; ${advice}.`, {
      cause,
    })
  }
  if (FULL.has(code)) {
    return new StateError('STORE_FULL', 'The disk of the file is full; make room, and try again.', { cause })
  }
  if (READ_ONLY.has(code)) {
    const advice = 'make it and its folder writable for this process'
    return new StateError('STORE_UNAVAILABLE', `The file is read-only; ${advice}.`, { cause })
  }
  const advice = 'check that its folder exists, that it is writable, and that the disk has room'
  return new StateError('STORE_UNAVAILABLE', `The file cannot be used; ${advice}.`, { cause })
}

/** Whether SQLite or the file system failed, or the file was closed; all else is a fault of the code, and must show. */
function isOfFile(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === 'ERR_SQLITE_ERROR' || error.code === 'ERR_INVALID_STATE' || 'syscall' in error
}

function resultCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
}

/** The file of ledgers and carry stores: they may share one, or have one each. */

// A claim or a token that was acknowledged must also survive a power cut: what `once` promises rests on it.
const FORMAT: SqliteFormat = {
  applicationId: 0x50_61_6e_6e, // "Pann"
  makesFolder: false,
  noun: 'a store of ours',
  pragmas: 'PRAGMA synchronous = FULL',
  migrations: [
    `CREATE TABLE claims (id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, done INTEGER NOT NULL, value TEXT) STRICT;
     CREATE INDEX claims_by_expiry ON claims (expires_at);
     CREATE TABLE tokens (id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, token TEXT NOT NULL) STRICT;
     CREATE INDEX tokens_by_expiry ON tokens (expires_at)`,
  ],
}

export function openStateFile(path: string): DatabaseSync {
  return openSqliteFile(path, FORMAT)
}

/**
 * Opens a SQLite file of this package.
 *
 * Invariants:
 * - the file, its write-ahead log and its shared-memory index are readable by their owner only, from their creation on;
 * - a file of another program, of a newer version or with damage is refused, and never written to;
 * - a file of an older version is migrated by one process, while other processes that open it wait;
 * - several processes of one machine may use it at once (write-ahead log);
 * - once it is open, no statement waits longer than `BUSY_TIMEOUT_MS` for the lock of another process, because it blocks
 *   the event loop meanwhile. `SqliteWrites` waits longer without that.
 */
import { findNodeModule, nodeModule, type OptionNames } from '../../protocol/index.ts'
import type { DatabaseSync } from 'node:sqlite'
import { StateError } from '../errors.ts'

/** How long a write, or opening a file, waits for the lock of another process. */
export const LOCK_WAIT_MS = 5000

// Longer than most commits take, so that processes that all write seldom have to try again.
const BUSY_TIMEOUT_MS = 25

// SQLite's primary result codes.
const BUSY = new Set([5, 6])
const READ_ONLY = new Set([3, 8])
const FULL = new Set([13])
const DAMAGED = new Set([1, 11, 26]) // a missing table or column, a malformed image, not a database

/** The format of one kind of file. */
export interface SqliteFormat {
  readonly applicationId: number
  /** The SQL that makes each version of the schema from the one before. Released entries never change. */
  readonly migrations: readonly string[]
  readonly pragmas: string
  /** Whether a missing folder is created. If not, it is an error. */
  readonly makesFolder: boolean
  /** The name of the file in error messages. */
  readonly noun: string
}

export interface SqliteFileOptions {
  /** The path of the file, which is created if it does not exist. `:memory:` is for tests. */
  path: string
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
}

export const SQLITE_FILE_OPTIONS: OptionNames<SqliteFileOptions> = { path: true, clock: true }

export function openSqliteFile(path: string, format: SqliteFormat): DatabaseSync {
  if (typeof path !== 'string' || path === '') throw new TypeError('A store in a file needs the "path" of that file.')
  return withStoreErrors(() => {
    if (path !== ':memory:') makeFile(path, format)
    const database = new (sqliteClass())(path, { timeout: LOCK_WAIT_MS })
    try {
      // Check before the first write, so that a file of another program stays unchanged.
      if (!isEmpty(database)) assertOurs(database, format)
      if (path !== ':memory:') makePrivate(path)
      prepareFile(database, format)
      setBusyTimeout(database, BUSY_TIMEOUT_MS)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  })
}

/** Runs a function that uses a file. Errors of SQLite and the file system become StateErrors; others pass unchanged. */
export function withStoreErrors<Result>(run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    throw isFileError(error) ? storeError(error) : error
  }
}

/** Runs a function in one write transaction, which is rolled back if the function throws. */
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

/** Runs statements that fail at once if another process has the lock. */
export function withoutWaiting<Result>(database: DatabaseSync, run: () => Result): Result {
  setBusyTimeout(database, 0)
  try {
    return run()
  } finally {
    setBusyTimeout(database, BUSY_TIMEOUT_MS)
  }
}

/** Whether an error says that another process has the lock. */
export function isLocked(error: unknown): boolean {
  return BUSY.has(resultCode(error instanceof StateError ? error.cause : error))
}

function setBusyTimeout(database: DatabaseSync, ms: number): void {
  database.exec(`PRAGMA busy_timeout = ${ms}`)
}

// Loaded when a file is opened and not before: other runtimes lack node:sqlite, and Node 22 prints a warning for it.
export function sqliteClass(): typeof DatabaseSync {
  const module = findNodeModule('node:sqlite')
  if (module) return module.DatabaseSync
  throw new StateError(
    'STORE_UNAVAILABLE',
    'This runtime has no node:sqlite; use Node 22.18 or newer, or another store.',
  )
}

function makeFile(path: string, { makesFolder }: SqliteFormat): void {
  const { closeSync, mkdirSync, openSync } = nodeModule('node:fs')
  if (makesFolder) mkdirSync(nodeModule('node:path').dirname(path), { recursive: true, mode: 0o700 })
  closeSync(openSync(path, 'a', 0o600))
}

// SQLite creates the log and the index with the mode of the file, but existing ones may have another mode.
function makePrivate(path: string): void {
  const { chmodSync, statSync } = nodeModule('node:fs')
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const stats = statSync(file, { throwIfNoEntry: false })
    if (stats && (stats.mode & 0o077) !== 0) chmodSync(file, 0o600)
  }
}

function prepareFile(database: DatabaseSync, format: SqliteFormat): void {
  retryWhileBusy(() => database.exec('PRAGMA journal_mode = WAL'))
  database.exec(format.pragmas)
  if (isEmpty(database) || versionOf(database) < format.migrations.length) {
    inTransaction(database, () => migrate(database, format))
  }
  assertOurs(database, format)
}

/** Checks the version again under the write lock: another process may have migrated the file in the meantime. */
function migrate(database: DatabaseSync, format: SqliteFormat): void {
  if (!isEmpty(database)) assertOurs(database, format)
  const { applicationId, migrations } = format
  for (const migration of migrations.slice(versionOf(database))) database.exec(migration)
  database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}`)
}

// A change of the journal mode ignores the busy timeout, so it is retried here for as long.
export function retryWhileBusy<Result>(run: () => Result): Result {
  const deadline = performance.now() + LOCK_WAIT_MS
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
    const advice = 'restore it from a backup, or move it away, and a new one is made'
    return new StateError('STORE_CORRUPT', `The file was not made by Pannier or is damaged; ${advice}.`, { cause })
  }
  if (BUSY.has(code)) {
    const advice = 'it is suspended, or keeps a transaction open: resume it or end it, and try again'
    return new StateError('STORE_UNAVAILABLE', `Another process has locked the file; ${advice}.`, { cause })
  }
  if (FULL.has(code)) {
    return new StateError('STORE_FULL', 'The disk of the file is full; make room, and try again.', { cause })
  }
  if (READ_ONLY.has(code)) {
    const advice = 'make it and its folder writable for this process'
    return new StateError('STORE_UNAVAILABLE', `The file is read-only; ${advice}.`, { cause })
  }
  const advice = 'check that its folder exists, that it is writable, and that the disk has free space'
  return new StateError('STORE_UNAVAILABLE', `The file cannot be used; ${advice}.`, { cause })
}

/** Whether SQLite or the file system failed, or the file was closed. Any other error is a bug and is not translated. */
function isFileError(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === 'ERR_SQLITE_ERROR' || error.code === 'ERR_INVALID_STATE' || 'syscall' in error
}

function resultCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
}

// synchronous = FULL: an acknowledged claim or token must survive a power cut, or `once` could run twice.
const STATE_FILE: SqliteFormat = {
  applicationId: 0x50_61_6e_6e, // "Pann"
  makesFolder: false,
  noun: 'a store of Pannier',
  pragmas: 'PRAGMA synchronous = FULL',
  migrations: [
    `CREATE TABLE claims (id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, done INTEGER NOT NULL, value TEXT) STRICT;
     CREATE INDEX claims_by_expiry ON claims (expires_at);
     CREATE TABLE tokens (id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, token TEXT NOT NULL) STRICT;
     CREATE INDEX tokens_by_expiry ON tokens (expires_at)`,
  ],
}

/** Opens the file of a ledger or a carry store. Both may use the same file. */
export function openStateFile(path: string): DatabaseSync {
  return openSqliteFile(path, STATE_FILE)
}

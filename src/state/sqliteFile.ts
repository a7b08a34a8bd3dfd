/**
 * Opens the one file format of this folder: a SQLite database with a table of claims and a table of tokens, so that a
 * ledger and a carry store may share a file or have one each.
 *
 * Invariants:
 * - the file is readable by its owner only, from the moment it exists: claims hold results in clear;
 * - a file of another program, of a newer version or with damage is refused, and never written to;
 * - several processes of one machine may use it at once (write-ahead log, 5 s of patience with each other).
 */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { StateError } from './errors.ts'

const APPLICATION_ID = 0x50_61_6e_6e // "Pann"
const SCHEMA_VERSION = 1
const BUSY_TIMEOUT_MS = 5000

// SQLite's primary result codes.
const BUSY = new Set([5, 6])
const DAMAGED = new Set([1, 11, 26]) // a missing table or column, a malformed image, not a database

const SCHEMA = `
  CREATE TABLE claims (id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, done INTEGER NOT NULL, value TEXT) STRICT;
  CREATE INDEX claims_by_expiry ON claims (expires_at);
  CREATE TABLE tokens (id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, token TEXT NOT NULL) STRICT;
  CREATE INDEX tokens_by_expiry ON tokens (expires_at);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`

export interface SqliteFileOptions {
  /** The file; it is made when there is none. `:memory:` is for tests. */
  path: string
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
}

export function openSqliteFile(path: string): DatabaseSync {
  return saying(() => {
    if (path !== ':memory:') closeSync(openSync(path, 'a', 0o600))
    const database = new (sqliteClass())(path, { timeout: BUSY_TIMEOUT_MS })
    try {
      // Reading comes first, so that a file of somebody else stays as it is.
      if (!isEmpty(database)) assertOurs(database)
      if (path !== ':memory:') makePrivate(path)
      prepareFile(database)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  })
}

/** Runs something against the file, and says what to do when it fails. */
export function saying<Result>(run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    throw error instanceof StateError ? error : storeError(error)
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

function makePrivate(path: string): void {
  const sharedWithOthers = (statSync(path).mode & 0o077) !== 0
  if (sharedWithOthers) chmodSync(path, 0o600)
}

function prepareFile(database: DatabaseSync): void {
  patiently(() => database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL'))
  if (isEmpty(database)) {
    inTransaction(database, () => {
      if (isEmpty(database)) database.exec(SCHEMA)
    })
  }
  assertOurs(database)
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

function assertOurs(database: DatabaseSync): void {
  if (pragma(database, 'application_id') !== APPLICATION_ID) {
    throw new StateError(
      'STORE_CORRUPT',
      'The file is a database of another program; give the store a path of its own.',
    )
  }
  const version = pragma(database, 'user_version')
  if (version === SCHEMA_VERSION) return
  const advice = 'upgrade this instance, or give it a path of its own'
  throw new StateError(
    'STORE_NEWER',
    `The file has schema ${version}, this version knows ${SCHEMA_VERSION}; ${advice}.`,
  )
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
  const advice = 'check that its folder exists, that it is writable, and that the disk has room'
  return new StateError('STORE_UNAVAILABLE', `The file cannot be used; ${advice}.`, { cause })
}

function resultCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
}

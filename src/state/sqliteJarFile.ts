/**
 * Opens the file of a jar.
 *
 * Invariants:
 * - it is the owner's only, from the moment it exists, and so are its log and its index: values lie in it in clear;
 * - a file of another program, of a newer version or with damage is refused, and never written to;
 * - several processes may use it at once (write-ahead log, 5 s of patience with each other).
 */
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { StateError } from './errors.ts'
import { inTransaction, saying } from './sqliteFile.ts'

const APPLICATION_ID = 0x50_4a_61_72 // "PJar"
const SCHEMA_VERSION = 1
const BUSY_TIMEOUT_MS = 5000
const BUSY_CODES = new Set([5, 6])

// Names and keys are JSON strings: those with a NUL or half a character in them come back as they were.
// The context of server state is empty, which is no JSON string.
const SCHEMA = `
  CREATE TABLE entries (
    principal TEXT NOT NULL, server TEXT NOT NULL, context TEXT NOT NULL, name TEXT NOT NULL,
    value TEXT NOT NULL, bytes INTEGER NOT NULL, updated_at INTEGER NOT NULL, used_at INTEGER NOT NULL,
    PRIMARY KEY (principal, server, context, name)
  ) STRICT;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`

export function openJarFile(path: string, survivesPowerLoss: boolean): DatabaseSync {
  return saying(() => {
    if (path !== ':memory:') makeFile(path)
    const database = new (sqliteClass())(path, { timeout: BUSY_TIMEOUT_MS })
    try {
      // Reading comes first, so that a file of somebody else stays as it is.
      if (!isEmpty(database)) assertOurs(database)
      if (path !== ':memory:') makePrivate(path)
      prepare(database, survivesPowerLoss)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  })
}

/** Runs something that should not wait for other processes: it fails at once where it would have to. */
export function withoutWaiting(database: DatabaseSync, run: () => void): void {
  database.exec('PRAGMA busy_timeout = 0')
  try {
    run()
  } finally {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  closeSync(openSync(path, 'a', 0o600))
}

// SQLite gives the log and the index the mode of the file; those that lie there may have been made before.
function makePrivate(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const stats = statSync(file, { throwIfNoEntry: false })
    if (stats && (stats.mode & 0o077) !== 0) chmodSync(file, 0o600)
  }
}

// What is written survives the end of this process in either mode, and the file stays sound in either. What is deleted
// is overwritten, so that cleared state is gone from the file, too.
function prepare(database: DatabaseSync, survivesPowerLoss: boolean): void {
  patiently(() => database.exec('PRAGMA journal_mode = WAL'))
  database.exec(`PRAGMA synchronous = ${survivesPowerLoss ? 'FULL' : 'NORMAL'}; PRAGMA secure_delete = ON`)
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
      const isBusy = error instanceof Error && 'errcode' in error && BUSY_CODES.has(Number(error.errcode) & 0xff)
      if (!isBusy || performance.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}

// Loaded when first used: other runtimes lack it, and Node 22 warns that it is experimental.
function sqliteClass(): typeof DatabaseSync {
  const module = process.getBuiltinModule('node:sqlite')
  if (module) return module.DatabaseSync
  throw new StateError('STORE_UNAVAILABLE', 'This runtime has no node:sqlite; use Node 22.18 or newer, or memoryJar.')
}

function isEmpty(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
}

function assertOurs(database: DatabaseSync): void {
  if (pragma(database, 'application_id') !== APPLICATION_ID) {
    throw new StateError('STORE_CORRUPT', 'The file is a database, but no jar; give the jar a path of its own.')
  }
  const version = pragma(database, 'user_version')
  if (version === SCHEMA_VERSION) return
  const advice = 'upgrade this program, or give it a jar of its own'
  throw new StateError('STORE_NEWER', `The jar has schema ${version}, this version knows ${SCHEMA_VERSION}; ${advice}.`)
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name])
}

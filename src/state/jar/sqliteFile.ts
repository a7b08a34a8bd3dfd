/** The file of a jar. Its values lie in it in clear; what is deleted is overwritten, so cleared state is gone from it, too. */
import type { DatabaseSync } from 'node:sqlite'
import { BUSY_TIMEOUT_MS, openSqliteFile } from '../stores/sqliteFile.ts'

// Names and keys are JSON strings: those with a NUL or half a character in them come back as they were.
// The context of server state is empty, which is no JSON string.
const SCHEMA = `
  CREATE TABLE entries (
    principal TEXT NOT NULL, server TEXT NOT NULL, context TEXT NOT NULL, name TEXT NOT NULL,
    value TEXT NOT NULL, bytes INTEGER NOT NULL, updated_at INTEGER NOT NULL, used_at INTEGER NOT NULL,
    PRIMARY KEY (principal, server, context, name)
  ) STRICT`

/** What is written survives the end of this process in either mode, and the file stays sound in either. */
export function openJarFile(path: string, survivesPowerLoss: boolean): DatabaseSync {
  return openSqliteFile(path, {
    applicationId: 0x50_4a_61_72, // "PJar"
    makesFolder: true,
    noun: 'a jar',
    migrations: [SCHEMA],
    pragmas: `PRAGMA synchronous = ${survivesPowerLoss ? 'FULL' : 'NORMAL'}; PRAGMA secure_delete = ON`,
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

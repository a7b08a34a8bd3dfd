/** The file of ledgers and carry stores: they may share one, or have one each. */
import type { DatabaseSync } from 'node:sqlite'
import { openSqliteFile, type SqliteFormat } from './sqliteFile.ts'

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

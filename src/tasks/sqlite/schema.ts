/** The schema of the SQLite file. `synchronous = FULL`: an acknowledged write survives a power cut. */
import type { DatabaseSync } from 'node:sqlite'
import { StateError } from '../../state/internal.ts'
import { openSqliteFile, type SqliteFormat } from '../../state/stores/index.ts'

// Text from outside (ids, owners, tools, keys, messages) and all data are stored as JSON text, which preserves U+0000 and
// lone surrogates. Large columns and columns that change often stand in different tables, because SQLite writes whole
// rows.
const FIRST = `
  CREATE TABLE tasks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    audience TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, call TEXT NOT NULL, tool TEXT NOT NULL,
    status TEXT NOT NULL, message TEXT, round INTEGER NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, expires_at INTEGER,
    change INTEGER NOT NULL, -- the number of the last change that the owner could see
    worker TEXT, epoch INTEGER NOT NULL, losses INTEGER NOT NULL,
    outcome TEXT -- the result of a completed task, the failure of a failed one
  ) STRICT;
  CREATE UNIQUE INDEX tasks_by_id ON tasks (audience, id, owner);
  CREATE UNIQUE INDEX tasks_by_call ON tasks (audience, owner, call);
  CREATE INDEX tasks_by_owner ON tasks (audience, owner);
  CREATE INDEX tasks_by_change ON tasks (audience, change);
  CREATE INDEX tasks_by_expiry ON tasks (expires_at) WHERE expires_at IS NOT NULL;
  CREATE INDEX tasks_by_worker ON tasks (worker) WHERE worker IS NOT NULL;
  CREATE INDEX tasks_ready ON tasks (audience, tool) WHERE status = 'working' AND worker IS NULL;

  CREATE TABLE calls (
    task INTEGER PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    begun_at REAL, args TEXT NOT NULL, caller TEXT NOT NULL, own TEXT
  ) STRICT;

  CREATE TABLE steps (
    task INTEGER NOT NULL REFERENCES tasks ON DELETE CASCADE,
    key TEXT NOT NULL, done INTEGER NOT NULL, value TEXT,
    PRIMARY KEY (task, key)
  ) STRICT;

  CREATE TABLE asks (
    task INTEGER NOT NULL REFERENCES tasks ON DELETE CASCADE,
    wire_key TEXT NOT NULL, key TEXT NOT NULL, question TEXT, times INTEGER NOT NULL,
    state TEXT NOT NULL, -- open, answered, refused or closed
    request TEXT, response TEXT,
    PRIMARY KEY (task, wire_key)
  ) STRICT;
  CREATE INDEX asks_open ON asks (task) WHERE state = 'open';

  CREATE TABLE workers (
    id TEXT PRIMARY KEY, machine TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL,
    lease_ms INTEGER NOT NULL, beat INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE changes (last INTEGER NOT NULL) STRICT;
  INSERT INTO changes VALUES (0)`

// `losses` are those that the task is charged with. `crashes` counts the processes that it has lost in a row: see trial.ts.
const TRIALS = `
  ALTER TABLE tasks ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN on_trial INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN retry_at INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX tasks_suspect ON tasks (audience, tool, retry_at)
    WHERE status = 'working' AND worker IS NULL AND crashes > 0`

// Who may answer a question (JSON; null: the owner), and who did.
const APPROVERS = `
  ALTER TABLE asks ADD COLUMN approvers TEXT;
  ALTER TABLE asks ADD COLUMN answered_by TEXT`

const PROGRESS = 'ALTER TABLE tasks ADD COLUMN progress TEXT'

// For whom a task is counted: see fairness.ts. Processes of earlier versions do not say it.
const HOLDERS = `
  ALTER TABLE tasks ADD COLUMN holder TEXT NOT NULL DEFAULT '""';
  UPDATE tasks SET holder = owner WHERE status IN ('working', 'input_required');
  CREATE INDEX tasks_ready_by_holder ON tasks (audience, tool, holder)
    WHERE status = 'working' AND worker IS NULL AND crashes = 0;
  CREATE INDEX tasks_unfinished ON tasks (audience, holder, worker) WHERE status IN ('working', 'input_required')`

// Which of the holder's members has the task; null where it has none.
const MEMBERS = `
  ALTER TABLE tasks ADD COLUMN member TEXT;
  CREATE INDEX tasks_unfinished_of_member ON tasks (audience, member)
    WHERE status IN ('working', 'input_required') AND member IS NOT NULL`

const FORMAT: SqliteFormat = {
  applicationId: 0x50_54_73_6b, // "PTsk"
  makesFolder: false,
  noun: 'a task store',
  pragmas: 'PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON',
  migrations: [FIRST, TRIALS, APPROVERS, PROGRESS, HOLDERS, MEMBERS],
}

export function openTaskFile(path: string): DatabaseSync {
  try {
    return openSqliteFile(path, FORMAT)
  } catch (error) {
    if (!(error instanceof StateError)) throw error
    const { code, message, cause } = error
    throw new StateError(code, `The task store ${path} cannot be used. ${message}`, { cause })
  }
}

/** The SQLite file of a task store and its schema. `synchronous = FULL`: an acknowledged write survives a power cut. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { statSync } from 'node:fs'
import { StateError } from '../../state/internal.ts'
import { openSqliteFile, type SqliteFormat, withStoreErrors } from '../../state/stores/index.ts'

// Text from outside (ids, owners, tools, keys, messages) and all data are stored as JSON text, which preserves U+0000
// and lone surrogates. Keys combine the audience and the name. Large columns and columns that change often are in
// different tables, because SQLite writes whole rows. An index on an expression is used only by the statement that it is for.
const SCHEMA = `
  CREATE TABLE tasks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    address TEXT NOT NULL, owner TEXT NOT NULL, call TEXT NOT NULL,
    same_key TEXT, -- equal for equal calls of an owner, while they continue this one
    holder TEXT NOT NULL, -- the caller that the task counts for: see fairness.ts
    member TEXT, -- the member of the holder that has the task; null if the holder has no members
    tool_key TEXT NOT NULL, id TEXT NOT NULL, tool TEXT NOT NULL, call_id TEXT NOT NULL,
    status TEXT NOT NULL, message TEXT, progress TEXT, round INTEGER NOT NULL,
    outcome TEXT, -- the result of a completed task, the failure of a failed one
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, expires_at INTEGER,
    version INTEGER NOT NULL DEFAULT 1,
    change INTEGER NOT NULL DEFAULT 0, -- the number of the last transaction in which the owner could see a change
    generation INTEGER NOT NULL DEFAULT 0, worker TEXT, leased_until INTEGER NOT NULL DEFAULT 0,
    retry_at INTEGER NOT NULL DEFAULT 0,
    losses INTEGER NOT NULL DEFAULT 0, -- the losses that the task is charged with
    attempts INTEGER NOT NULL DEFAULT 0, -- the processes that it has lost in a row
    alone INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE UNIQUE INDEX tasks_by_address ON tasks (address, owner);
  CREATE UNIQUE INDEX tasks_by_call ON tasks (call);
  CREATE UNIQUE INDEX tasks_by_same_key ON tasks (same_key) WHERE same_key IS NOT NULL;
  CREATE INDEX tasks_by_owner ON tasks (owner);
  CREATE INDEX tasks_by_change ON tasks (change) WHERE change > 0;
  CREATE INDEX tasks_by_expiry ON tasks (expires_at) WHERE expires_at IS NOT NULL;
  CREATE INDEX tasks_by_worker ON tasks (worker) WHERE worker IS NOT NULL;
  CREATE INDEX tasks_running ON tasks (holder) WHERE worker IS NOT NULL;
  CREATE INDEX tasks_ready_by_holder ON tasks (tool_key, holder)
    WHERE status = 'working' AND worker IS NULL AND attempts < 2;
  CREATE INDEX tasks_suspect ON tasks (tool_key, retry_at)
    WHERE status = 'working' AND worker IS NULL AND attempts >= 2;
  CREATE INDEX tasks_unfinished ON tasks (holder || '') WHERE status IN ('working', 'input_required');
  CREATE INDEX tasks_unfinished_of_member ON tasks (member || '')
    WHERE status IN ('working', 'input_required') AND member IS NOT NULL;

  CREATE TABLE calls (
    task INTEGER PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    begun_at REAL, args TEXT NOT NULL, caller TEXT NOT NULL, own TEXT,
    answer_ms INTEGER -- how long each question is open; null: as long as the task
  ) STRICT;

  CREATE TABLE steps (
    task INTEGER NOT NULL REFERENCES tasks ON DELETE CASCADE,
    key TEXT NOT NULL, done INTEGER NOT NULL, value TEXT, attempt TEXT,
    PRIMARY KEY (task, key)
  ) STRICT;

  CREATE TABLE questions (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER NOT NULL REFERENCES tasks ON DELETE CASCADE,
    wire_key TEXT NOT NULL, key TEXT NOT NULL, question TEXT, times INTEGER NOT NULL,
    asked_at INTEGER NOT NULL, expires_at INTEGER, closed_at INTEGER,
    state TEXT NOT NULL, -- open, answered, refused, expired or withdrawn
    request TEXT, response TEXT,
    approvers TEXT, -- the rule on who may answer (JSON); null: the owner
    answered_by TEXT, -- a principal (JSON)
    way TEXT, -- where it was answered
    UNIQUE (task, wire_key)
  ) STRICT;

  CREATE INDEX questions_by_expiry ON questions (expires_at) WHERE state = 'open' AND expires_at IS NOT NULL;

  -- One row for each name in the approvers of an open question.
  CREATE TABLE addressees (
    name TEXT NOT NULL, place INTEGER NOT NULL REFERENCES questions ON DELETE CASCADE,
    PRIMARY KEY (name, place)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX addressees_by_place ON addressees (place);

  CREATE TABLE notices (
    place INTEGER NOT NULL REFERENCES questions ON DELETE CASCADE,
    channel TEXT NOT NULL, name TEXT NOT NULL,
    due_at INTEGER, -- null: given up
    attempts INTEGER NOT NULL,
    PRIMARY KEY (place, channel)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX notices_due ON notices (due_at) WHERE due_at IS NOT NULL;

  CREATE TABLE changes (last INTEGER NOT NULL) STRICT;
  INSERT INTO changes VALUES (0);

  -- See fileClock.ts.
  CREATE TABLE clock (boot TEXT PRIMARY KEY, time_ms INTEGER NOT NULL, up_ms INTEGER NOT NULL) STRICT`

const TASK_FILE: SqliteFormat = {
  applicationId: 0x50_54_73_6b, // "PTsk"
  makesFolder: false,
  noun: 'a task store',
  pragmas: 'PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON',
  migrations: [SCHEMA],
}

export function openTaskFile(path: string): DatabaseSync {
  try {
    return openSqliteFile(path, TASK_FILE)
  } catch (error) {
    if (!(error instanceof StateError)) throw error
    const { code, message, cause } = error
    throw new StateError(code, `The task store ${path} cannot be used. ${message}`, { cause })
  }
}

const TABLES = ['tasks', 'calls', 'steps', 'questions', 'changes']

/** The opened file: whether it is still in its place, with all its tables. */
export class StoreFile {
  readonly #path: string
  readonly #identity: string | undefined
  readonly #tables: StatementSync

  constructor(database: DatabaseSync, path: string) {
    const rows = TABLES.map((table) => `SELECT 1 FROM ${table} WHERE rowid = 0`)
    this.#path = path
    this.#identity = identityAt(path)
    this.#tables = withStoreErrors(() => database.prepare(rows.join(' UNION ALL ')))
  }

  /** Whether another file is at its path. */
  get isReplaced(): boolean {
    const identity = identityAt(this.#path)
    return identity !== undefined && identity !== this.#identity
  }

  /** Throws if a task that is stored here would not be run. */
  assertUsable(): void {
    if (identityAt(this.#path) !== this.#identity) {
      const advice = 'put it back, or restore it from a backup. A restart begins with a new one'
      throw new StateError('STORE_CORRUPT', `The file of the task store was moved or deleted; ${advice}.`)
    }
    withStoreErrors(() => this.#tables.get())
  }
}

/** Undefined if there is no file. */
function identityAt(path: string): string | undefined {
  if (path === ':memory:') return undefined
  const stats = withStoreErrors(() => statSync(path, { bigint: true, throwIfNoEntry: false }))
  return stats && `${stats.dev} ${stats.ino}`
}

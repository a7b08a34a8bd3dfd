/** The SQLite file of a task store and its schema. `synchronous = FULL`: an acknowledged write survives a power cut. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { statSync } from 'node:fs'
import { StateError } from '../../state/internal.ts'
import { openSqliteFile, type SqliteFormat, withStoreErrors } from '../../state/stores/index.ts'

// Text from outside (ids, owners, tools, keys, messages) and all data are stored as JSON text, which preserves U+0000
// and lone surrogates. Large columns and columns that change often are in different tables, because SQLite writes whole
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

// `losses`: the losses that a task is charged with. `crashes`: the processes that it has lost in a row.
const TRIALS = `
  ALTER TABLE tasks ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN on_trial INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN retry_at INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX tasks_suspect ON tasks (audience, tool, retry_at)
    WHERE status = 'working' AND worker IS NULL AND crashes > 0`

// The rule on who may answer a question (JSON; null: the owner), and the person who did.
const APPROVERS = `
  ALTER TABLE asks ADD COLUMN approvers TEXT;
  ALTER TABLE asks ADD COLUMN answered_by TEXT`

const PROGRESS = 'ALTER TABLE tasks ADD COLUMN progress TEXT'

// The caller that a task counts for: see fairness.ts. Processes of earlier versions do not set it.
const HOLDERS = `
  ALTER TABLE tasks ADD COLUMN holder TEXT NOT NULL DEFAULT '""';
  UPDATE tasks SET holder = owner WHERE status IN ('working', 'input_required');
  CREATE INDEX tasks_ready_by_holder ON tasks (audience, tool, holder)
    WHERE status = 'working' AND worker IS NULL AND crashes = 0;
  CREATE INDEX tasks_unfinished ON tasks (audience, holder, worker) WHERE status IN ('working', 'input_required')`

// The member of the holder that has the task; null if the holder has no members.
const MEMBERS = `
  ALTER TABLE tasks ADD COLUMN member TEXT;
  CREATE INDEX tasks_unfinished_of_member ON tasks (audience, member)
    WHERE status IN ('working', 'input_required') AND member IS NOT NULL`

// See fileClock.ts.
const CLOCK = 'CREATE TABLE clock (boot TEXT PRIMARY KEY, time_ms INTEGER NOT NULL, up_ms INTEGER NOT NULL) STRICT'

// One engine for both databases: keys combine the audience and the name, and a lease is part of the row of its
// task. `change` is the number of the last transaction in which the owner could see a change: one query returns all
// tasks that changed since then.
const ONE_ENGINE = `
  DROP TABLE workers;
  DROP INDEX tasks_by_id; DROP INDEX tasks_by_call; DROP INDEX tasks_by_owner; DROP INDEX tasks_by_change;
  DROP INDEX tasks_by_worker; DROP INDEX tasks_ready; DROP INDEX tasks_suspect; DROP INDEX tasks_ready_by_holder;
  DROP INDEX tasks_unfinished; DROP INDEX tasks_unfinished_of_member;
  ALTER TABLE tasks DROP COLUMN epoch; ALTER TABLE tasks DROP COLUMN losses; ALTER TABLE tasks DROP COLUMN change;
  ALTER TABLE tasks ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN change INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks RENAME COLUMN crashes TO attempts;
  ALTER TABLE tasks RENAME COLUMN on_trial TO alone;
  ALTER TABLE tasks ADD COLUMN address TEXT NOT NULL DEFAULT '';
  ALTER TABLE tasks ADD COLUMN tool_key TEXT NOT NULL DEFAULT '';
  ALTER TABLE tasks ADD COLUMN call_id TEXT NOT NULL DEFAULT '';
  ALTER TABLE tasks ADD COLUMN leased_until INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
  UPDATE tasks SET worker = NULL, alone = 0, call_id = call,
    address = '[' || audience || ',' || id || ']',
    tool_key = '[' || audience || ',' || tool || ']',
    call = '[' || audience || ',' || owner || ',' || call || ']',
    owner = '[' || audience || ',' || owner || ']',
    holder = '[' || audience || ',' || holder || ']',
    member = '[' || audience || ',' || member || ']';
  ALTER TABLE tasks DROP COLUMN audience;
  ALTER TABLE steps ADD COLUMN attempt TEXT;
  CREATE TABLE questions (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER NOT NULL REFERENCES tasks ON DELETE CASCADE,
    wire_key TEXT NOT NULL, key TEXT NOT NULL, question TEXT, times INTEGER NOT NULL,
    state TEXT NOT NULL, -- open, answered, refused or closed
    request TEXT, response TEXT, approvers TEXT, answered_by TEXT,
    UNIQUE (task, wire_key)
  ) STRICT;
  INSERT INTO questions (task, wire_key, key, question, times, state, request, response, approvers, answered_by)
    SELECT task, wire_key, key, question, times, state, request, response, approvers, answered_by FROM asks ORDER BY rowid;
  DROP TABLE asks;
  CREATE UNIQUE INDEX tasks_by_address ON tasks (address, owner);
  CREATE UNIQUE INDEX tasks_by_call ON tasks (call);
  CREATE INDEX tasks_by_owner ON tasks (owner);
  CREATE INDEX tasks_by_change ON tasks (change) WHERE change > 0;
  CREATE INDEX tasks_by_worker ON tasks (worker) WHERE worker IS NOT NULL;
  CREATE INDEX tasks_running ON tasks (holder) WHERE worker IS NOT NULL;
  CREATE INDEX tasks_ready ON tasks (tool_key, number + 0)
    WHERE status = 'working' AND worker IS NULL AND attempts < 2;
  CREATE INDEX tasks_ready_by_holder ON tasks (tool_key, holder)
    WHERE status = 'working' AND worker IS NULL AND attempts < 2;
  CREATE INDEX tasks_suspect ON tasks (tool_key, retry_at)
    WHERE status = 'working' AND worker IS NULL AND attempts >= 2;
  CREATE INDEX tasks_unfinished ON tasks (holder || '') WHERE status IN ('working', 'input_required');
  CREATE INDEX tasks_unfinished_of_member ON tasks (member || '')
    WHERE status IN ('working', 'input_required') AND member IS NOT NULL`

// Who is asked: one row for each name in `by` of an open question. `same_key`: the calls that continue a waiting call.
const ADDRESSEES = `
  ALTER TABLE tasks ADD COLUMN same_key TEXT;
  CREATE INDEX tasks_by_same_key ON tasks (same_key) WHERE same_key IS NOT NULL;
  ALTER TABLE questions ADD COLUMN asked_at INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE addressees (
    name TEXT NOT NULL,
    place INTEGER NOT NULL REFERENCES questions ON DELETE CASCADE,
    PRIMARY KEY (name, place)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX addressees_by_place ON addressees (place)`

/** The format of the file of a task store. */
export const TASK_FILE: SqliteFormat = {
  applicationId: 0x50_54_73_6b, // "PTsk"
  makesFolder: false,
  noun: 'a task store',
  pragmas: 'PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON',
  migrations: [FIRST, TRIALS, APPROVERS, PROGRESS, HOLDERS, MEMBERS, CLOCK, ONE_ENGINE, ADDRESSEES],
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

/**
 * The database schema and its migrations. An advisory lock lets one process at a time migrate.
 *
 * Rights: the first process creates the schema, so its user needs CREATE on the database, or owns an existing schema.
 * Once it is up to date, a user needs USAGE on the schema, SELECT, INSERT, UPDATE and DELETE on its tables, and USAGE
 * on its sequences.
 */
import { StateError } from '../state/internal.ts'
import { autocommit, runTransaction, type PostgresPool, type Sql } from './sql.ts'

// A migration may wait for another process, or rewrite a table.
const MIGRATION_IDLE_MS = 60_000

export async function migrate(pool: PostgresPool, names: SchemaNames, migrations = MIGRATIONS): Promise<void> {
  const newest = migrations.length
  if ((await versionOf(autocommit(pool), names)) === newest) return
  await runTransaction(pool, { idleMs: MIGRATION_IDLE_MS }, async (sql) => {
    await sql.script(`SELECT pg_advisory_xact_lock(hashtextextended('pannier migrates ${names.tables}', 0))`)
    const version = await versionOf(sql, names)
    if (version > newest) throw newerSchema(version, newest)
    if (version === 0) await createSchema(sql, names)
    for (const migration of migrations.slice(version)) await sql.script(migration(names.tables))
    await sql.rows(`UPDATE ${names.tables}.schema_version SET version = $1`, [newest])
  })
}

/** The version of the schema; 0 if it does not exist. */
async function versionOf(sql: Sql, { tables }: SchemaNames): Promise<number> {
  // to_regclass would use a cached result from before the transaction waited for the lock.
  const found = await sql.rows(
    `SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relname = 'schema_version'`,
    [unquoted(tables)],
  )
  if (found.length === 0) return 0
  const [row] = await sql.rows<{ version: number }>(`SELECT version FROM ${tables}.schema_version`)
  return row?.version ?? 0
}

async function createSchema(sql: Sql, { tables }: SchemaNames): Promise<void> {
  const [encoding] = await sql.rows<{ server_encoding: string }>('SHOW server_encoding')
  if (encoding?.server_encoding !== 'UTF8') {
    throw new StateError(
      'STORE_UNAVAILABLE',
      'The encoding of the database does not have all characters; create it with ENCODING UTF8.',
    )
  }
  // CREATE SCHEMA IF NOT EXISTS needs the right to create schemas even when the schema exists.
  const found = await sql.rows('SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1', [unquoted(tables)])
  if (found.length === 0) await sql.script(`CREATE SCHEMA ${tables}`)
  await sql.script(`
    CREATE TABLE ${tables}.schema_version (version integer NOT NULL);
    INSERT INTO ${tables}.schema_version VALUES (0)
  `)
}

function unquoted(name: string): string {
  return name.slice(1, -1)
}

function newerSchema(found: number, known: number): StateError {
  const advice = 'upgrade this program, or give it a schema of its own'
  return new StateError('STORE_NEWER', `The database has schema ${found}, this version knows ${known}; ${advice}.`)
}

/**
 * A released migration never changes; a new one is added at the end. Strings from handlers and peers are stored as JSON
 * text, because PostgreSQL's text type has neither U+0000 nor lone surrogates. Names that are only looked up are stored as
 * digests: their length does not matter, and the database does not reveal them.
 */
type Migration = (tables: string) => string

const MIGRATIONS: readonly Migration[] = [
  (tables) => [taskTables(tables), stateTables(tables), clusterTables(tables)].join(''),
]

/**
 * The columns are the same as in SQLite, and times are milliseconds. An index on an expression is used only by the
 * statement that it is for.
 */
function taskTables(tables: string): string {
  const digest = 'text COLLATE "C"'
  return `
    CREATE TABLE ${tables}.tasks (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      address ${digest} NOT NULL,
      owner ${digest} NOT NULL,
      call ${digest} NOT NULL UNIQUE,
      same_key ${digest}, -- equal for equal calls of an owner, while they continue this one
      holder ${digest} NOT NULL, -- the caller that the task counts for: see src/tasks/fairness.ts
      member ${digest}, -- the member of the holder that has the task; null if the holder has no members
      tool_key ${digest} NOT NULL,
      id text NOT NULL,
      tool text NOT NULL,
      call_id text NOT NULL,
      round integer NOT NULL,
      status text NOT NULL,
      message text,
      progress text,
      outcome text, -- the result of a completed task, the failure of a failed one
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL,
      expires_at bigint,
      version bigint NOT NULL DEFAULT 1,
      generation bigint NOT NULL DEFAULT 0,
      worker text,
      leased_until bigint NOT NULL DEFAULT 0,
      retry_at bigint NOT NULL DEFAULT 0,
      losses integer NOT NULL DEFAULT 0, -- the losses that the task is charged with
      attempts integer NOT NULL DEFAULT 0, -- the processes that it has lost in a row
      alone integer NOT NULL DEFAULT 0,
      UNIQUE (address, owner)
    );
    CREATE UNIQUE INDEX tasks_by_same_key ON ${tables}.tasks (same_key) WHERE same_key IS NOT NULL;
    CREATE INDEX tasks_by_owner ON ${tables}.tasks (owner, number);
    CREATE INDEX tasks_by_expiry ON ${tables}.tasks (expires_at) WHERE expires_at IS NOT NULL;
    CREATE INDEX tasks_by_worker ON ${tables}.tasks (worker) WHERE worker IS NOT NULL;
    CREATE INDEX tasks_running ON ${tables}.tasks (holder) WHERE worker IS NOT NULL;
    CREATE INDEX tasks_ready_by_holder ON ${tables}.tasks (tool_key, holder, number)
      WHERE status = 'working' AND worker IS NULL AND attempts < 2;
    CREATE INDEX tasks_suspect ON ${tables}.tasks (tool_key, retry_at)
      WHERE status = 'working' AND worker IS NULL AND attempts >= 2;
    CREATE INDEX tasks_unfinished ON ${tables}.tasks ((holder || '')) WHERE status IN ('working', 'input_required');
    CREATE INDEX tasks_unfinished_of_member ON ${tables}.tasks ((member || ''))
      WHERE status IN ('working', 'input_required') AND member IS NOT NULL;

    CREATE TABLE ${tables}.calls (
      task bigint PRIMARY KEY REFERENCES ${tables}.tasks ON DELETE CASCADE,
      begun_at double precision,
      args text NOT NULL,
      caller text NOT NULL,
      own text,
      answer_ms bigint -- how long each question is open; null: as long as the task
    );

    CREATE TABLE ${tables}.questions (
      task bigint NOT NULL REFERENCES ${tables}.tasks ON DELETE CASCADE,
      wire_key text NOT NULL,
      key text NOT NULL,
      place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
      asked_at bigint NOT NULL,
      expires_at bigint,
      closed_at bigint,
      question text,
      times integer NOT NULL,
      request text,
      response text,
      state text NOT NULL, -- open, answered, refused, expired or withdrawn
      approvers text, -- the rule on who may answer (JSON); null: the owner
      answered_by text, -- a principal (JSON)
      way text, -- where it was answered
      PRIMARY KEY (task, wire_key)
    );
    CREATE INDEX questions_by_expiry ON ${tables}.questions (expires_at)
      WHERE state = 'open' AND expires_at IS NOT NULL;

    -- One row for each name in the approvers of an open question.
    CREATE TABLE ${tables}.addressees (
      name ${digest} NOT NULL,
      place bigint NOT NULL REFERENCES ${tables}.questions (place) ON DELETE CASCADE,
      PRIMARY KEY (name, place)
    );
    CREATE INDEX addressees_by_place ON ${tables}.addressees (place);

    CREATE TABLE ${tables}.notices (
      place bigint NOT NULL REFERENCES ${tables}.questions (place) ON DELETE CASCADE,
      channel ${digest} NOT NULL,
      name text NOT NULL,
      due_at bigint, -- null: given up
      attempts integer NOT NULL,
      PRIMARY KEY (place, channel)
    );
    CREATE INDEX notices_due ON ${tables}.notices (due_at) WHERE due_at IS NOT NULL;

    CREATE TABLE ${tables}.steps (
      task bigint NOT NULL REFERENCES ${tables}.tasks ON DELETE CASCADE,
      key text NOT NULL,
      value text,
      done integer NOT NULL,
      attempt text,
      PRIMARY KEY (task, key)
    );
  `
}

/** The ledger, the carried tokens, the rates of callers, and the pinned tool definitions that gateways share. */
function stateTables(tables: string): string {
  // Counts of requests live for a minute.
  return `
    CREATE TABLE ${tables}.ledger (
      id bytea PRIMARY KEY,
      expires_at timestamptz(3) NOT NULL,
      done boolean NOT NULL DEFAULT false,
      value text
    );
    CREATE INDEX ledger_by_expiry ON ${tables}.ledger (expires_at);

    CREATE TABLE ${tables}.carried (
      id bytea PRIMARY KEY,
      expires_at timestamptz(3) NOT NULL,
      token text NOT NULL
    );
    CREATE INDEX carried_by_expiry ON ${tables}.carried (expires_at);

    CREATE UNLOGGED TABLE ${tables}.rates (
      key varchar(255) PRIMARY KEY,
      points integer NOT NULL DEFAULT 0,
      expire bigint
    );

    -- The text is null without pins.
    CREATE TABLE ${tables}.shared_texts (name text PRIMARY KEY, text text, version bigint NOT NULL);
  `
}

/** The events of the bus, and which gateway serves which caller: see src/postgres/placements.ts. */
function clusterTables(tables: string): string {
  // Unlogged: events live for two minutes, and may be lost with the database.
  return `
    CREATE UNLOGGED TABLE ${tables}.bus_events (
      publisher uuid NOT NULL,
      number bigint NOT NULL,
      audience bytea NOT NULL,
      event text NOT NULL,
      expires_at timestamptz(3) NOT NULL,
      PRIMARY KEY (publisher, number)
    );
    CREATE INDEX bus_events_by_expiry ON ${tables}.bus_events (expires_at);

    CREATE SEQUENCE ${tables}.placement_generations;
    CREATE TABLE ${tables}.gateways (
      id uuid PRIMARY KEY,
      address text,
      until timestamptz(3) NOT NULL,
      stopping boolean NOT NULL DEFAULT false
    );
    -- A caller without an owner is free.
    CREATE TABLE ${tables}.placements (
      key bytea PRIMARY KEY,
      server bytea NOT NULL,
      owner uuid,
      generation bigint NOT NULL,
      session text,
      idle_ms double precision NOT NULL,
      freed_at timestamptz(3)
    );
    CREATE INDEX placements_by_gateway ON ${tables}.placements (owner) WHERE owner IS NOT NULL;
    CREATE INDEX placements_free ON ${tables}.placements (freed_at) WHERE owner IS NULL
  `
}

/** The name of our schema, quoted for use in statements, and of the notification channel. */
export interface SchemaNames {
  /** The schema of our tables. */
  readonly tables: string
  /** The channel of LISTEN and NOTIFY. Channel names are shared by the whole database. */
  readonly channel: string
}

// Valid in quotes, and short enough that no derived name is truncated.
const SCHEMA_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,39}$/

export function schemaNames(schema: string): SchemaNames {
  if (typeof schema !== 'string' || !SCHEMA_NAME.test(schema)) {
    throw new StateError(
      'STATE_OPTION',
      'schema is a name of at most 40 letters, digits, _ and -, and does not begin with a digit or -.',
    )
  }
  return { tables: `"${schema}"`, channel: `${schema}_events` }
}

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

export const MIGRATIONS: readonly Migration[] = [
  (tables) => `
    CREATE TABLE ${tables}.tasks (
      task bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      address bytea NOT NULL,
      owner bytea NOT NULL,
      call bytea NOT NULL UNIQUE,
      id text NOT NULL,
      tool text NOT NULL,
      queue text NOT NULL,
      args text NOT NULL,
      caller text NOT NULL,
      call_id text NOT NULL,
      begun_at double precision,
      own text,
      round integer NOT NULL,
      status text NOT NULL,
      status_message text,
      result text,
      failure text,
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      updated_at timestamptz(3) NOT NULL DEFAULT now(),
      expires_at timestamptz(3),
      version bigint NOT NULL DEFAULT 1,
      job uuid,
      epoch bigint NOT NULL DEFAULT 0,
      held boolean NOT NULL DEFAULT false,
      losses integer NOT NULL DEFAULT 0,
      UNIQUE (address, owner)
    );
    CREATE INDEX tasks_by_owner ON ${tables}.tasks (owner, task);
    CREATE INDEX tasks_by_expiry ON ${tables}.tasks (expires_at) WHERE expires_at IS NOT NULL;

    CREATE TABLE ${tables}.questions (
      task bigint NOT NULL REFERENCES ${tables}.tasks ON DELETE CASCADE,
      wire_key text NOT NULL,
      key text NOT NULL,
      place bigint GENERATED ALWAYS AS IDENTITY,
      question text,
      times integer NOT NULL,
      request text,
      response text,
      state text NOT NULL,
      PRIMARY KEY (task, wire_key)
    );

    CREATE TABLE ${tables}.steps (
      task bigint NOT NULL REFERENCES ${tables}.tasks ON DELETE CASCADE,
      key text NOT NULL,
      value text,
      PRIMARY KEY (task, key)
    );

    CREATE TABLE ${tables}.claims (
      task bigint NOT NULL REFERENCES ${tables}.tasks ON DELETE CASCADE,
      key text NOT NULL,
      attempt uuid NOT NULL,
      PRIMARY KEY (task, key)
    );

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
  `,
  // Unlogged: events live for two minutes, and may be lost with the database.
  (tables) => `
    CREATE UNLOGGED TABLE ${tables}.bus_events (
      publisher uuid NOT NULL,
      number bigint NOT NULL,
      audience bytea NOT NULL,
      event text NOT NULL,
      expires_at timestamptz(3) NOT NULL,
      PRIMARY KEY (publisher, number)
    );
    CREATE INDEX bus_events_by_expiry ON ${tables}.bus_events (expires_at);
  `,
  // `losses`: the losses that a task is charged with. `crashes`: the processes that it has lost in a row. `shared`:
  // whether its current process also runs other tasks.
  (tables) => `
    ALTER TABLE ${tables}.tasks
      ADD COLUMN crashes integer NOT NULL DEFAULT 0,
      ADD COLUMN on_trial boolean NOT NULL DEFAULT false,
      ADD COLUMN shared boolean NOT NULL DEFAULT false
  `,
  // Counts live for a minute.
  (tables) => `
    CREATE UNLOGGED TABLE ${tables}.rates (
      key varchar(255) PRIMARY KEY,
      points integer NOT NULL DEFAULT 0,
      expire bigint
    )
  `,
  // The rule on who may answer a question (JSON; null: the owner), and the person who did.
  (tables) => `
    ALTER TABLE ${tables}.questions ADD COLUMN approvers text, ADD COLUMN answered_by text
  `,
  (tables) => `ALTER TABLE ${tables}.tasks ADD COLUMN progress text`,
  // The caller that a task counts for: see src/tasks/fairness.ts. Instances of earlier versions do not set it. Two
  // indexes are on expressions, so that only the statement that they are for uses them.
  (tables) => `
    ALTER TABLE ${tables}.tasks ADD COLUMN holder bytea NOT NULL DEFAULT '\\x00';
    UPDATE ${tables}.tasks SET holder = owner WHERE status IN ('working', 'input_required');
    CREATE INDEX tasks_ready ON ${tables}.tasks (queue, (task + 0)) WHERE status = 'working' AND NOT held AND crashes = 0;
    CREATE INDEX tasks_ready_by_holder ON ${tables}.tasks (queue, holder, task)
      WHERE status = 'working' AND NOT held AND crashes = 0;
    CREATE INDEX tasks_running ON ${tables}.tasks (holder) WHERE status = 'working' AND held;
    CREATE INDEX tasks_unfinished ON ${tables}.tasks (encode(holder, 'hex')) WHERE status IN ('working', 'input_required')
  `,
  // The member of the holder that has the task; null if the holder has no members.
  (tables) => `
    ALTER TABLE ${tables}.tasks ADD COLUMN member bytea;
    CREATE INDEX tasks_unfinished_of_member ON ${tables}.tasks (member)
      WHERE status IN ('working', 'input_required') AND member IS NOT NULL
  `,
  // Which gateway serves which caller: see src/postgres/placements.ts. A caller without a gateway is free.
  (tables) => `
    CREATE SEQUENCE ${tables}.placement_epochs;
    CREATE TABLE ${tables}.gateways (
      id uuid PRIMARY KEY,
      address text,
      leased_until timestamptz(3) NOT NULL,
      stopping boolean NOT NULL DEFAULT false
    );
    CREATE TABLE ${tables}.placements (
      id bytea PRIMARY KEY,
      server bytea NOT NULL,
      gateway uuid,
      epoch bigint NOT NULL,
      session text,
      idle_ms double precision NOT NULL,
      freed_at timestamptz(3)
    );
    CREATE INDEX placements_by_gateway ON ${tables}.placements (gateway) WHERE gateway IS NOT NULL;
    CREATE INDEX placements_free ON ${tables}.placements (freed_at) WHERE gateway IS NULL
  `,
  oneEngine,
  // Renames the columns of a claim to the words of the cluster: key, owner, generation, until.
  (tables) => `
    ALTER SEQUENCE ${tables}.placement_epochs RENAME TO placement_generations;
    ALTER TABLE ${tables}.gateways RENAME COLUMN leased_until TO until;
    ALTER TABLE ${tables}.placements RENAME COLUMN id TO key;
    ALTER TABLE ${tables}.placements RENAME COLUMN gateway TO owner;
    ALTER TABLE ${tables}.placements RENAME COLUMN epoch TO generation
  `,
  // Pinned tool definitions that gateways share. The text is NULL without pins.
  (tables) => `CREATE TABLE ${tables}.shared_texts (name text PRIMARY KEY, text text, version bigint NOT NULL)`,
]

/**
 * One engine for both databases: the columns are those of a SQLite file, times are milliseconds, names for look-ups are
 * digests as text, and a lease is part of the row of its task. Running tasks become ready again. The schema of pg-boss,
 * which earlier versions used for leases, stays as it is and may be dropped.
 */
function oneEngine(tables: string): string {
  const key = (column: string) =>
    `ALTER COLUMN ${column} TYPE text COLLATE "C" USING left(encode(${column}, 'hex'), 32)`
  const time = (column: string) =>
    `ALTER COLUMN ${column} DROP DEFAULT, ALTER COLUMN ${column} TYPE bigint USING (extract(epoch FROM ${column}) * 1000)::bigint`
  const json = (column: string) => `ALTER COLUMN ${column} TYPE text USING to_json(${column})::text`
  const indexes = ['ready', 'ready_by_holder', 'running', 'unfinished', 'unfinished_of_member', 'by_owner', 'by_expiry']
  return `
    ${indexes.map((name) => `DROP INDEX ${tables}.tasks_${name};`).join(' ')}
    ALTER TABLE ${tables}.tasks RENAME COLUMN task TO number;
    ALTER TABLE ${tables}.tasks RENAME COLUMN epoch TO generation;
    ALTER TABLE ${tables}.tasks RENAME COLUMN crashes TO attempts;
    ALTER TABLE ${tables}.tasks RENAME COLUMN queue TO tool_key;
    ALTER TABLE ${tables}.tasks RENAME COLUMN status_message TO message;
    ALTER TABLE ${tables}.tasks ALTER COLUMN holder DROP DEFAULT, ${['address', 'owner', 'call', 'holder', 'member'].map(key).join(', ')},
      ${['created_at', 'updated_at', 'expires_at'].map(time).join(', ')}, ${['id', 'tool'].map(json).join(', ')},
      ALTER COLUMN tool_key TYPE text COLLATE "C" USING split_part(tool_key, '/', 2),
      ADD COLUMN worker text, ADD COLUMN leased_until bigint NOT NULL DEFAULT 0,
      ADD COLUMN retry_at bigint NOT NULL DEFAULT 0, ADD COLUMN alone integer NOT NULL DEFAULT 0, ADD COLUMN outcome text;
    UPDATE ${tables}.tasks SET outcome = coalesce(result, failure);
    CREATE TABLE ${tables}.calls (
      task bigint PRIMARY KEY REFERENCES ${tables}.tasks ON DELETE CASCADE,
      begun_at double precision, args text NOT NULL, caller text NOT NULL, own text
    );
    INSERT INTO ${tables}.calls SELECT number, begun_at, args, caller, own FROM ${tables}.tasks;
    ALTER TABLE ${tables}.tasks DROP COLUMN begun_at, DROP COLUMN args, DROP COLUMN caller, DROP COLUMN own,
      DROP COLUMN held, DROP COLUMN job, DROP COLUMN on_trial, DROP COLUMN shared, DROP COLUMN result, DROP COLUMN failure;
    ALTER TABLE ${tables}.steps ADD COLUMN done integer NOT NULL DEFAULT 1, ADD COLUMN attempt text;
    INSERT INTO ${tables}.steps (task, key, done, attempt)
      SELECT task, key, 0, attempt::text FROM ${tables}.claims ON CONFLICT (task, key) DO NOTHING;
    DROP TABLE ${tables}.claims;
    CREATE INDEX tasks_by_owner ON ${tables}.tasks (owner, number);
    CREATE INDEX tasks_by_expiry ON ${tables}.tasks (expires_at) WHERE expires_at IS NOT NULL;
    CREATE INDEX tasks_by_worker ON ${tables}.tasks (worker) WHERE worker IS NOT NULL;
    CREATE INDEX tasks_running ON ${tables}.tasks (holder) WHERE worker IS NOT NULL;
    CREATE INDEX tasks_ready ON ${tables}.tasks (tool_key, (number + 0))
      WHERE status = 'working' AND worker IS NULL AND attempts < 2;
    CREATE INDEX tasks_ready_by_holder ON ${tables}.tasks (tool_key, holder, number)
      WHERE status = 'working' AND worker IS NULL AND attempts < 2;
    CREATE INDEX tasks_suspect ON ${tables}.tasks (tool_key, retry_at)
      WHERE status = 'working' AND worker IS NULL AND attempts >= 2;
    CREATE INDEX tasks_unfinished ON ${tables}.tasks ((holder || '')) WHERE status IN ('working', 'input_required');
    CREATE INDEX tasks_unfinished_of_member ON ${tables}.tasks ((member || ''))
      WHERE status IN ('working', 'input_required') AND member IS NOT NULL
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

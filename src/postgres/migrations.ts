/**
 * The schema, and how every older one becomes it.
 *
 * A released migration never changes; a new one is added at the end. Strings that come from handlers or peers lie in the
 * tables as JSON text, because PostgreSQL's text holds neither U+0000 nor half a surrogate pair. Names that only have to
 * be found again are digests, so their length does not matter and whoever reads the database does not learn them.
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
]

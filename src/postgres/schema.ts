/**
 * Brings a database up to date, one process at a time.
 *
 * Rights: whoever comes first creates two schemas, so the user needs CREATE on the database; or both are created before
 * and belong to the user. Once they are up to date, USAGE on both schemas, SELECT, INSERT, UPDATE and DELETE on their
 * tables, USAGE on their sequences and EXECUTE on the functions of pg-boss's schema are enough.
 */
import { StateError } from '../state/index.ts'
import { MIGRATIONS } from './migrations.ts'
import type { PostgresPool } from './pool.ts'
import type { SchemaNames } from './schemaNames.ts'
import { autonomous, inTransaction, type Sql } from './sql.ts'

// A migration may have to wait for another process, and to rewrite a table.
const PATIENCE_MS = 60_000

export async function migrate(pool: PostgresPool, names: SchemaNames, migrations = MIGRATIONS): Promise<void> {
  const newest = migrations.length
  if ((await versionOf(autonomous(pool), names)) === newest) return
  await inTransaction(pool, PATIENCE_MS, async (sql) => {
    await sql.script(`SELECT pg_advisory_xact_lock(hashtextextended('pannier migrates ${names.tables}', 0))`)
    const version = await versionOf(sql, names)
    if (version > newest) throw newer(version, newest)
    if (version === 0) await prepare(sql, names)
    for (const migration of migrations.slice(version)) await sql.script(migration(names.tables))
    await sql.rows(`UPDATE ${names.tables}.schema_version SET version = $1`, [newest])
  })
}

/** 0 where there is nothing of ours. */
async function versionOf(sql: Sql, { tables }: SchemaNames): Promise<number> {
  // Not by to_regclass: while a transaction waits for the lock, that keeps believing what it saw before.
  const found = await sql.rows(
    `SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relname = 'schema_version'`,
    [unquoted(tables)],
  )
  if (found.length === 0) return 0
  const [row] = await sql.rows<{ version: number }>(`SELECT version FROM ${tables}.schema_version`)
  return row?.version ?? 0
}

async function prepare(sql: Sql, { tables, jobs }: SchemaNames): Promise<void> {
  const [encoding] = await sql.rows<{ server_encoding: string }>('SHOW server_encoding')
  if (encoding?.server_encoding !== 'UTF8') {
    throw new StateError(
      'STORE_UNAVAILABLE',
      'The database does not hold all characters; create it with ENCODING UTF8.',
    )
  }
  // Even where the schema is there, CREATE SCHEMA IF NOT EXISTS asks for the right to create it.
  for (const schema of [tables, jobs]) {
    const found = await sql.rows('SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1', [unquoted(schema)])
    if (found.length === 0) await sql.script(`CREATE SCHEMA ${schema}`)
  }
  await sql.script(`
    CREATE TABLE ${tables}.schema_version (version integer NOT NULL);
    INSERT INTO ${tables}.schema_version VALUES (0)
  `)
}

function unquoted(name: string): string {
  return name.slice(1, -1)
}

function newer(found: number, known: number): StateError {
  const advice = 'upgrade this program, or give it a schema of its own'
  return new StateError('STORE_NEWER', `The database has schema ${found}, this version knows ${known}; ${advice}.`)
}

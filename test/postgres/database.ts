import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import './statements.ts'

/** The address of a new, empty database on the PostgreSQL of this test run. */
export async function newDatabase(): Promise<string> {
  const answer = await fetch(inject('postgresAddress'))
  const admin = await answer.text()
  if (!answer.ok) throw new Error(admin)
  const name = `test_${randomBytes(6).toString('hex')}`
  await runSql(admin, `CREATE DATABASE ${name}`)
  return onDatabase(admin, name)
}

/** The same server and user, another database. */
export function onDatabase(url: string, name: string): string {
  const address = new URL(url)
  address.pathname = `/${name}`
  return address.href
}

/** Runs statements on a connection of their own. */
export async function runSql<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values?: unknown[],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}

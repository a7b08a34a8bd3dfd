/** Databases for the ledgers of docs/how-to/ledgers.md. Each interface is the part of the client's that is used. */
import type { RunSql } from 'pannier/state'

type Rows = Awaited<ReturnType<RunSql>>

interface D1 {
  prepare(statement: string): { bind(...values: unknown[]): { all(): Promise<{ results: Rows }> } }
}

interface Turso {
  execute(statement: { sql: string; args: (string | number | null)[] }): Promise<{ rows: Rows }>
}

interface Neon {
  query(statement: string, values: unknown[]): Promise<Rows>
}

// #region sql-ledger
/** D1 of Cloudflare: sqlLedger(onD1(env.DB)). */
export const onD1 =
  (db: D1): RunSql =>
  async (statement, parameters) =>
    (
      await db
        .prepare(statement)
        .bind(...parameters)
        .all()
    ).results

/** Turso: sqlLedger(onTurso(createClient({ url, authToken }))). */
export const onTurso =
  (client: Turso): RunSql =>
  async (sql, parameters) =>
    (await client.execute({ sql, args: [...parameters] })).rows

/** Neon: sqlLedger(onNeon(neon(url))). Parameters of PostgreSQL have numbers. */
export const onNeon =
  (sql: Neon): RunSql =>
  (statement, parameters) => {
    let last = 0
    return sql.query(
      statement.replaceAll('?', () => `$${++last}`),
      [...parameters],
    )
  }
// #endregion sql-ledger

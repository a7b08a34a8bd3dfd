/** How rows of ledgers and stores expire, by the clock of the database. */
import { makeSweeper } from '../state/stores/index.ts'
import type { Database } from './database.ts'

/** A century. Rows never live longer: PostgreSQL's calendar has an end. */
export const MAX_LIFE_MS = 3_155_760_000_000

const SWEEP_BATCH = 1000

/** Removes expired rows of a table from time to time, when it is called. */
export function tableSweeper(database: Database, table: string): () => void {
  const text = `WITH expired AS (SELECT id FROM ${table} WHERE expires_at <= now() LIMIT $1 FOR UPDATE SKIP LOCKED)
    DELETE FROM ${table} AS t USING expired WHERE t.id = expired.id`
  return makeSweeper(performance.now.bind(performance), () => {
    // The caller uses the database next and gets the error itself.
    database
      .statements()
      .then((sql) => sql.rows(text, [SWEEP_BATCH]))
      .catch(() => {})
  })
}

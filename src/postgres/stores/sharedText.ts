import { databaseOf, type PostgresConnection } from '../database.ts'

/** A text that all processes of a database share. */
export interface SharedText {
  /** The text and its version. The text is left out if `known` is its version, or before the first write. */
  read(known?: string): Promise<VersionedText>
  /** Replaces the text, one process at a time; `change` returns undefined to leave it. */
  update(change: (text: string | undefined) => string | undefined): Promise<void>
}

export interface VersionedText {
  readonly version: string
  readonly text?: string
}

/** Maximum time between two statements of a transaction. */
const IDLE_MS = 5000
const NO_VERSION = '0'

export function postgresSharedText(connection: PostgresConnection, name: string): SharedText {
  const database = databaseOf(connection)
  const texts = `${database.names.tables}.shared_texts`
  return {
    async read(known = NO_VERSION) {
      const [row] = await database.rows<{ version: string; text: string | null }>(
        `SELECT version::text, CASE WHEN version::text = $2 THEN NULL ELSE text END AS text FROM ${texts} WHERE name = $1`,
        [name, known],
      )
      if (row === undefined) return { version: NO_VERSION }
      return { version: row.version, ...(row.text !== null && { text: row.text }) }
    },

    async update(change) {
      await database.transaction({ idleMs: IDLE_MS }, async (sql) => {
        // Inserts the row before it locks it, so that two first changes do not miss each other.
        await sql.rows(
          `INSERT INTO ${texts} (name, text, version) VALUES ($1, NULL, 0) ON CONFLICT (name) DO NOTHING`,
          [name],
        )
        const [row] = await sql.rows<{ text: string | null }>(`SELECT text FROM ${texts} WHERE name = $1 FOR UPDATE`, [
          name,
        ])
        const next = change(row?.text ?? undefined)
        if (next === undefined) return
        await sql.rows(`UPDATE ${texts} SET text = $2, version = version + 1 WHERE name = $1`, [name, next])
      })
    },
  }
}

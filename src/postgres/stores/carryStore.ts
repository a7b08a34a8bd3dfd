import { StateError } from '../../state/internal.ts'
import { assertId, type CarryStore } from '../../state/stores/index.ts'
import { databaseOf, type PostgresConnection } from '../database.ts'
import { digest } from '../digest.ts'
import { MAX_LIFE_MS, tableSweeper } from '../expiry.ts'

/** A carry store for all machines that use this database. It stores digests instead of ids. */
export function postgresCarryStore(connection: PostgresConnection): CarryStore {
  const database = databaseOf(connection)
  const carried = `${database.names.tables}.carried`

  const run = async <Row>(text: string, values: unknown[]) => (await database.statements()).rows<Row>(text, values)
  const sweep = tableSweeper(database, carried)

  return {
    async put(id, token, expiresAt) {
      assertId(id)
      sweep()
      // The remaining time instead of a date: the clocks of two machines may differ.
      const leftMs = Math.min(expiresAt * 1000 - Date.now(), MAX_LIFE_MS)
      await run(
        `INSERT INTO ${carried} (id, token, expires_at) VALUES ($1, $2, now() + $3::float8 * interval '1 millisecond')
         ON CONFLICT (id) DO UPDATE SET token = excluded.token, expires_at = excluded.expires_at`,
        [digest(id), JSON.stringify(token), leftMs],
      )
    },

    async get(id) {
      const [row] = await run<{ token: string }>(`SELECT token FROM ${carried} WHERE id = $1 AND expires_at > now()`, [
        digest(id),
      ])
      return row && parseToken(row.token)
    },

    async delete(id) {
      await run(`DELETE FROM ${carried} WHERE id = $1`, [digest(id)])
    },
  }
}

function parseToken(text: string): string {
  try {
    return String(JSON.parse(text))
  } catch {
    // No cause: the parser's message would quote the token.
    throw new StateError('STORE_CORRUPT', 'A token in the store is damaged; restore it from a backup.')
  }
}

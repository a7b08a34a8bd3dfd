import { parseStored } from '../../state/internal.ts'
import { assertId, type CarryStore } from '../../state/stores/index.ts'
import { databaseOf, type PostgresConnection } from '../database.ts'
import { digest } from '../digest.ts'
import { MAX_LIFE_MS, tableSweeper } from './ledger.ts'

/** A carry store for all machines that use this database. It stores digests instead of ids. */
export function postgresCarryStore(connection: PostgresConnection): CarryStore {
  const database = databaseOf(connection)
  const carried = `${database.names.tables}.carried`

  const sweep = tableSweeper(database, carried)

  return {
    async put(id, token, expiresAt) {
      assertId(id)
      sweep()
      // The remaining time instead of a date: the clocks of two machines may differ.
      const leftMs = Math.min(expiresAt * 1000 - Date.now(), MAX_LIFE_MS)
      await database.rows(
        `INSERT INTO ${carried} (id, token, expires_at) VALUES ($1, $2, now() + $3::float8 * interval '1 millisecond')
         ON CONFLICT (id) DO UPDATE SET token = excluded.token, expires_at = excluded.expires_at`,
        [digest(id), JSON.stringify(token), leftMs],
      )
    },

    async get(id) {
      const [row] = await database.rows<{ token: string }>(
        `SELECT token FROM ${carried} WHERE id = $1 AND expires_at > now()`,
        [digest(id)],
      )
      return row && String(parseStored(row.token, 'A token in the store is damaged; restore it from a backup.'))
    },

    async delete(id) {
      await database.rows(`DELETE FROM ${carried} WHERE id = $1`, [digest(id)])
    },
  }
}

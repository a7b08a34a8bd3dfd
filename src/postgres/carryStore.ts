import { StateError } from '../state/internal.ts'
import { assertId, type CarryStore, makeSweeper } from '../state/stores/index.ts'
import { databaseOf, type PostgresConnection } from './database.ts'
import { digest } from './digest.ts'

// PostgreSQL's calendar ends; a token that is kept longer than a century is kept for one.
const CENTURY_MS = 3_155_760_000_000
const SWEEP_AT_ONCE = 1000

/** A store for all machines that use this database. It knows ids by their digests only. */
export function postgresCarryStore(connection: PostgresConnection): CarryStore {
  const database = databaseOf(connection)
  const carried = `${database.names.tables}.carried`

  const run = async <Row>(text: string, values: unknown[]) => (await database.statements()).rows<Row>(text, values)
  const sweep = makeSweeper(performance.now.bind(performance), () => {
    // Whoever puts learns of a database that is away.
    run(
      `WITH expired AS (SELECT id FROM ${carried} WHERE expires_at <= now() LIMIT $1 FOR UPDATE SKIP LOCKED)
       DELETE FROM ${carried} AS t USING expired WHERE t.id = expired.id`,
      [SWEEP_AT_ONCE],
    ).catch(() => {})
  })

  return {
    async put(id, token, expiresAt) {
      assertId(id)
      sweep()
      // How long is left, not until when: the clocks of two machines need not agree.
      const leftMs = Math.min(expiresAt * 1000 - Date.now(), CENTURY_MS)
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
      return row && readToken(row.token)
    },

    async delete(id) {
      await run(`DELETE FROM ${carried} WHERE id = $1`, [digest(id)])
    },
  }
}

function readToken(text: string): string {
  try {
    return String(JSON.parse(text))
  } catch {
    // No cause: the parser's message would quote the token.
    throw new StateError('STORE_CORRUPT', 'A token in the store is damaged; restore it from a backup.')
  }
}

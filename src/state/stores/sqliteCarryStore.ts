import { assertOptionNames } from '../../protocol/index.ts'
import type { CarryStore } from './carryStore.ts'
import { assertId } from './ledger.ts'
import { openStateFile, SQLITE_FILE_OPTIONS, withStoreErrors, type SqliteFileOptions } from './sqliteFile.ts'
import { SqliteWrites } from './sqliteWrites.ts'
import { makeSweeper } from './expiry.ts'

/** A carry store for all processes of one machine. Its statements are synchronous; a write waits up to 5 s for a lock. */
export function sqliteCarryStore(options: SqliteFileOptions): CarryStore & { close(): void } {
  assertOptionNames(options, SQLITE_FILE_OPTIONS, 'sqliteCarryStore')
  const { path, clock = Date.now } = options
  const database = openStateFile(path)
  const writes = new SqliteWrites(database)
  const statements = withStoreErrors(() => ({
    put: database.prepare(
      `INSERT INTO tokens (id, expires_at, token) VALUES (:id, :expiresAt, :token)
       ON CONFLICT (id) DO UPDATE SET expires_at = :expiresAt, token = :token`,
    ),
    get: database.prepare('SELECT token FROM tokens WHERE id = :id AND expires_at > :now'),
    delete: database.prepare('DELETE FROM tokens WHERE id = :id'),
    sweep: database.prepare('DELETE FROM tokens WHERE expires_at <= :now'),
  }))
  const sweep = makeSweeper(clock, (now) => statements.sweep.run({ now }))

  return {
    async put(id, token, expiresAt) {
      assertId(id)
      await writes.run(() => {
        sweep()
        statements.put.run({ id, token, expiresAt: Math.ceil(expiresAt * 1000) })
      })
    },

    async get(id) {
      const row = withStoreErrors(() => statements.get.get({ id, now: clock() }))
      return typeof row?.token === 'string' ? row.token : undefined
    },

    async delete(id) {
      await writes.run(() => statements.delete.run({ id }))
    },

    close() {
      database.close()
    },
  }
}

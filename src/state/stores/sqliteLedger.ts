import { assertOptionNames } from '../../protocol/index.ts'
import { StateError } from '../errors.ts'
import { jsonText } from '../jsonText.ts'
import { assertClaim, type Claim, claimMissing, type Ledger } from './ledger.ts'
import {
  inTransaction,
  openStateFile,
  SQLITE_FILE_OPTIONS,
  withStoreErrors,
  type SqliteFileOptions,
} from './sqliteFile.ts'
import { SqliteWrites } from './sqliteWrites.ts'
import { makeSweeper } from './expiry.ts'

/** A ledger for all processes of one machine. Its statements are synchronous; a claim waits up to 5 s for a lock. */
export function sqliteLedger(options: SqliteFileOptions): Ledger & { close(): void } {
  assertOptionNames(options, SQLITE_FILE_OPTIONS, 'sqliteLedger')
  const { path, clock = Date.now } = options
  const database = openStateFile(path)
  const writes = new SqliteWrites(database)
  const statements = withStoreErrors(() => ({
    // A new claim replaces an expired one.
    claim: database.prepare(
      `INSERT INTO claims (id, expires_at, done) VALUES (:id, :expiresAt, 0)
       ON CONFLICT (id) DO UPDATE SET expires_at = :expiresAt, done = 0, value = NULL WHERE expires_at <= :now`,
    ),
    find: database.prepare('SELECT done, value FROM claims WHERE id = :id AND expires_at > :now'),
    settle: database.prepare('UPDATE claims SET done = 1, value = :value WHERE id = :id AND done = 0'),
    release: database.prepare('DELETE FROM claims WHERE id = :id AND done = 0'),
    sweep: database.prepare('DELETE FROM claims WHERE expires_at <= :now'),
  }))
  const sweep = makeSweeper(clock, (now) => statements.sweep.run({ now }))

  function claimNow(id: string, ttlSeconds: number): Claim {
    sweep()
    const now = clock()
    const expiresAt = Math.ceil(now + ttlSeconds * 1000)
    if (statements.claim.run({ id, expiresAt, now }).changes === 1) return { state: 'fresh' }
    const row = statements.find.get({ id, now })
    if (row?.done !== 1) return { state: 'running' }
    return { state: 'done', value: readValue(row.value) }
  }

  function settleNow(id: string, value: string | null): void {
    if (!statements.find.get({ id, now: clock() })) throw claimMissing()
    statements.settle.run({ id, value })
  }

  return {
    async claim(id, ttlSeconds) {
      assertClaim(id, ttlSeconds)
      return writes.run(() => inTransaction(database, () => claimNow(id, ttlSeconds)))
    },

    async settle(id, value) {
      const text = value === undefined ? null : jsonText(value)
      await writes.run(() => inTransaction(database, () => settleNow(id, text)))
    },

    async release(id) {
      await writes.run(() => statements.release.run({ id }))
    },

    close() {
      database.close()
    },
  }
}

function readValue(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  try {
    return JSON.parse(text)
  } catch {
    // No cause: the parser's message quotes the value.
    throw new StateError('STORE_CORRUPT', 'A settled value in the ledger is damaged; restore the file from a backup.')
  }
}

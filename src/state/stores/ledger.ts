/**
 * A ledger makes work single-use. The first to claim an id does the work; later claims of the id learn that the work is
 * running, or its result.
 *
 * Invariants, for every ledger:
 * - of all claims of one id before it expires, exactly one is fresh;
 * - a claim whose process died stays `running` until it expires: how far the work came is unknown;
 * - the first settled value is kept, and `release` does not remove it;
 * - a value is written as JSON and read back, and undefined stays undefined.
 */
import { assertOptionNames } from '../../protocol/index.ts'
import { StateError } from '../errors.ts'
import { jsonText, parseStored } from '../jsonText.ts'
import { fairShareOf, Quota } from '../quota/index.ts'
import { ExpiringMap, makeSweeper } from './expiry.ts'
import {
  inTransaction,
  openStateFile,
  SQLITE_FILE_OPTIONS,
  type SqliteFileOptions,
  withStoreErrors,
} from './sqliteFile.ts'
import { SqliteWrites } from './sqliteWrites.ts'

/** A ledger's answer to a claim: the first claim, a claim whose work runs, or a claim whose work is done. */
export type Claim = { state: 'fresh' } | { state: 'running' } | { state: 'done'; value: unknown }

/** Where single uses are claimed. */
export interface Ledger {
  /**
   * Claims an id. The claim expires after `ttlSeconds`. A ledger may have a quota for each caller. Of a caller in two lines
   * the first is its group, such as all who come from one address.
   */
  claim(id: string, ttlSeconds: number, caller?: string): Promise<Claim>
  /** Records the result of the claimed work. Later claims get it until the claim expires. */
  settle(id: string, value: unknown): Promise<void>
  /** Removes a claim whose work was not done, so that the id can be claimed again at once. */
  release(id: string): Promise<void>
}

/** Refuses a claim with an invalid id or an invalid time. */
export function assertClaim(id: string, ttlSeconds: number): void {
  assertId(id)
  if (Number.isFinite(ttlSeconds) && ttlSeconds > 0) return
  throw new StateError('STATE_OPTION', 'ttlSeconds is a positive, finite number of seconds.')
}

/** Refuses ids with lone surrogates: UTF-8 replaces each by the same character, so two ids would become one. */
export function assertId(id: string): void {
  if (typeof id === 'string' && id.isWellFormed()) return
  throw new StateError('STATE_OPTION', 'An id is a string of well-formed Unicode.')
}

export function claimMissing(): StateError {
  const advice = 'claim it first, and choose ttlSeconds longer than the work takes'
  return new StateError('LEDGER_UNKNOWN', `There is no claim with this id, or it has expired; ${advice}.`)
}

export interface MemoryLedgerOptions {
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
  /** The maximum number of live claims. Further ones are refused: dropping one would repeat its work. @default 100000 */
  maxEntries?: number
  /**
   * The limit per caller, so that one caller does not use up the whole quota. A group of callers may have half of all.
   * @default a tenth
   */
  maxPerHolder?: number
}

interface LedgerEntry {
  readonly caller: string | undefined
  done: boolean
  /** The settled value as JSON, or undefined if the value was undefined. */
  text: string | undefined
}

/** A ledger in the memory of this process. */
export function memoryLedger(options: MemoryLedgerOptions = {}): Ledger {
  assertOptionNames(options, { clock: true, maxEntries: true, maxPerHolder: true }, 'memoryLedger')
  const { clock = Date.now, maxEntries = 100_000, maxPerHolder = Math.ceil(maxEntries / 10) } = options
  const limits = { caller: maxPerHolder, group: fairShareOf(maxEntries) }
  const quota = new Quota({ caller: { places: limits.caller }, group: { places: limits.group } })
  const entries = new ExpiringMap<LedgerEntry>(clock, ({ caller }) => {
    if (caller !== undefined) quota.release(caller)
  })

  return {
    async claim(id, ttlSeconds, caller) {
      assertClaim(id, ttlSeconds)
      const entry = entries.get(id)
      if (entry?.done) return { state: 'done', value: entry.text === undefined ? undefined : JSON.parse(entry.text) }
      if (entry) return { state: 'running' }
      if (entries.size >= maxEntries) throw full(maxEntries)
      const exceeded = caller === undefined ? undefined : quota.take(caller)
      if (exceeded === 'group') throw fullFor('The group of this caller has', limits.group, 'maxEntries')
      if (exceeded === 'caller') throw fullFor('This caller has', limits.caller, 'maxPerHolder')
      entries.set(id, { caller, done: false, text: undefined }, clock() + ttlSeconds * 1000)
      return { state: 'fresh' }
    },

    async settle(id, value) {
      const entry = entries.get(id)
      if (!entry) throw claimMissing()
      if (entry.done) return
      entry.text = value === undefined ? undefined : jsonText(value)
      entry.done = true
    },

    async release(id) {
      if (entries.get(id)?.done === false) entries.delete(id)
    },
  }
}

function full(maxEntries: number): StateError {
  const advice = 'raise maxEntries, shorten ttlSeconds, or use a ledger on disk'
  return new StateError('LEDGER_FULL', `The ledger has ${maxEntries} live claims and accepts no more; ${advice}.`)
}

function fullFor(who: string, max: number, option: string): StateError {
  const advice = `wait until some expire, or raise ${option}`
  return new StateError('LEDGER_FULL', `${who} ${max} live claims and gets no more; ${advice}.`)
}

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
  return parseStored(text, 'A settled value in the ledger is damaged; restore the file from a backup.')
}

/**
 * A ledger makes work single-use. The first to claim an id does the work; later claims of the id learn that the work is
 * running, or its result.
 *
 * Invariants, for every ledger:
 * - of all claims of one id before it expires, exactly one is fresh;
 * - a claim whose process died stays `running` until it expires: nobody can know how far the work came;
 * - the first settled value is kept, and `release` does not remove it;
 * - a value is written as JSON and read back, and undefined stays undefined.
 */
import { StateError } from '../errors.ts'
import { jsonText } from '../jsonText.ts'
import { ExpiringMap } from './expiry.ts'

export type Claim = { state: 'fresh' } | { state: 'running' } | { state: 'done'; value: unknown }

export interface Ledger {
  /** Claims an id. The claim expires after `ttlSeconds`. */
  claim(id: string, ttlSeconds: number): Promise<Claim>
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
}

/** `text` is the settled value as JSON, or undefined if the value was undefined. */
type LedgerEntry = { done: false; expiresAtMs: number } | { done: true; text: string | undefined }

/** A ledger in the memory of this process. */
export function memoryLedger({ clock = Date.now, maxEntries = 100_000 }: MemoryLedgerOptions = {}): Ledger {
  const entries = new ExpiringMap<LedgerEntry>(clock)

  return {
    async claim(id, ttlSeconds) {
      assertClaim(id, ttlSeconds)
      const entry = entries.get(id)
      if (entry?.done) return { state: 'done', value: entry.text === undefined ? undefined : JSON.parse(entry.text) }
      if (entry) return { state: 'running' }
      if (entries.size >= maxEntries) throw full(maxEntries)
      const expiresAtMs = clock() + ttlSeconds * 1000
      entries.set(id, { done: false, expiresAtMs }, expiresAtMs)
      return { state: 'fresh' }
    },

    async settle(id, value) {
      const entry = entries.get(id)
      if (!entry) throw claimMissing()
      if (entry.done) return
      const text = value === undefined ? undefined : jsonText(value)
      entries.set(id, { done: true, text }, entry.expiresAtMs)
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

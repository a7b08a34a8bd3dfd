/**
 * Single use. Who claims an id first does the work; everyone after learns that it runs, or what it gave.
 *
 * Invariants, for every ledger:
 * - of any number of claims of one id within its time, exactly one is fresh;
 * - a claim whose process died stays running until its time is over: nobody can know how far the work came;
 * - the first settled value stands, and releasing does not undo it;
 * - a value comes back as JSON, and undefined as undefined.
 */
import { StateError } from '../errors.ts'
import { jsonText } from '../jsonText.ts'
import { ExpiringMap } from './expiry.ts'

export type Claim = { state: 'fresh' } | { state: 'running' } | { state: 'done'; value: unknown }

export interface Ledger {
  /** Claims an id for some seconds. */
  claim(id: string, ttlSeconds: number): Promise<Claim>
  /** Says what the claimed work gave; it is told to later claims until the claim's time is over. */
  settle(id: string, value: unknown): Promise<void>
  /** Gives a claim back because its work was not done, so that it can be claimed again at once. */
  release(id: string): Promise<void>
}

/** Refuses claims that a ledger could not keep its word on. */
export function assertClaim(id: string, ttlSeconds: number): void {
  assertId(id)
  if (Number.isFinite(ttlSeconds) && ttlSeconds > 0) return
  throw new StateError('STATE_OPTION', 'ttlSeconds is a positive, finite number of seconds.')
}

/** Refuses ids that two stores could take for one: in UTF-8 all lone surrogates are the same. */
export function assertId(id: string): void {
  if (typeof id === 'string' && id.isWellFormed()) return
  throw new StateError('STATE_OPTION', 'An id is a string of well-formed Unicode.')
}

export function claimMissing(): StateError {
  const advice = 'claim it first, and give the claim more time than the work takes'
  return new StateError('LEDGER_UNKNOWN', `Nothing is claimed under this id, or its time is over; ${advice}.`)
}

export interface MemoryLedgerOptions {
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
  /** Above this many live claims new ones are refused: forgetting one would allow its work twice. @default 100000 */
  maxEntries?: number
}

/** `text` is the JSON of a settled value, undefined where the value was. */
type LedgerEntry = { done: false; expiresAtMs: number } | { done: true; text: string | undefined }

/** A ledger for one process. It forgets everything when the process ends. */
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
  return new StateError('LEDGER_FULL', `The ledger holds ${maxEntries} live claims and takes no more; ${advice}.`)
}

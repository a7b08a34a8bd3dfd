import { StateError } from '../errors.ts'
import { ExpiringMap } from './expiringMap.ts'
import { jsonText } from '../jsonText.ts'
import { assertClaim, claimGone, type Ledger } from './ledger.ts'

export interface MemoryLedgerOptions {
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
  /** Above this many live claims new ones are refused: forgetting one would allow its work twice. @default 100000 */
  maxEntries?: number
}

/** `text` is the JSON of a settled value, undefined where the value was. */
type Entry = { done: false; expiresAtMs: number } | { done: true; text: string | undefined }

/** A ledger for one process. It forgets everything when the process ends. */
export function memoryLedger({ clock = Date.now, maxEntries = 100_000 }: MemoryLedgerOptions = {}): Ledger {
  const entries = new ExpiringMap<Entry>(clock)

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
      if (!entry) throw claimGone()
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

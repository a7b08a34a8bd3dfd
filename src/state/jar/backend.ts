import type { StateScope } from '../../protocol/index.ts'
import { parseStored } from '../jsonText.ts'
import type { JarSet } from './rules.ts'
import type { JarEntry, JarFilter, JarKey, JarOwner } from './store.ts'

/** An entry as a backend stores it. The value is JSON text, so that nobody who reads it can change the stored value. */
export interface JarRecord {
  readonly scope: StateScope
  readonly name: string
  readonly text: string
  readonly updatedAt: number
  readonly usedAt: number
}

/** The time of a write, in milliseconds. An equal value that was written after `knownSince` is not written again. */
export interface JarTime {
  readonly now: number
  readonly knownSince: number
}

/** The times before which entries are expired. */
export interface JarHorizon {
  /** Entries that were set at this time or before are expired. */
  readonly updatedAt: number
  /** Session state that was last used at this time or before is expired: its context is over. */
  readonly sessionUsedAt: number
}

/** Stores the entries of a jar, and applies no rules: `createJar` does that. */
export interface JarBackend {
  /** Runs a function in one transaction. Gives a promise if it has to wait for another process. */
  atomically<Result>(run: () => Result): Result | Promise<Result>
  /** The session state and the server state of a connection at one moment, with expired entries. */
  read(owner: JarOwner): JarRecord[]
  put(key: JarKey, set: JarSet, time: JarTime): void
  delete(key: JarKey, name: string): void
  /** Sets the time of last use for all live entries of a connection. Best effort: it never waits and never throws. */
  touch(owner: JarOwner, now: number, horizon: JarHorizon): void
  count(owner: JarOwner): { ofServer: number; ofPrincipal: number }
  entries(filter: JarFilter): JarEntry[]
  items(filter: JarFilter): (JarEntry & { readonly text: string })[]
  endContext(principal: string, context: string): void | Promise<void>
  sweep(horizon: JarHorizon): void
  /** Called after a removal: nothing of the removed values may stay on the disk. */
  erase(): void | Promise<void>
  close(): void
}

/** Whether an equal value was written recently. A write time in the future comes from a clock that was set back. */
export function isKnown(known: Pick<JarRecord, 'text' | 'updatedAt'>, text: string, time: JarTime): boolean {
  return known.text === text && known.updatedAt > time.knownSince && known.updatedAt <= time.now
}

export function serverKey({ server, principal }: Omit<JarKey, 'context'>): JarKey {
  return { server, principal, context: undefined }
}

export function scopeOf({ context }: Pick<JarKey, 'context'>): StateScope {
  return context === undefined ? 'server' : 'session'
}

export function parseValue(text: string): unknown {
  return parseStored(text, 'An entry of the jar is damaged; restore the file, or move it away.')
}

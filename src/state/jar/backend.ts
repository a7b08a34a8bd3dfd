import type { StateScope } from '../../protocol/index.ts'
import { StateError } from '../errors.ts'
import type { JarSet } from './rules.ts'
import type { JarEntry, JarFilter, JarKey, JarOwner } from './store.ts'

/** A value as it lies on a shelf: JSON text, so that nobody who reads it can change what is kept. */
export interface JarRecord {
  readonly scope: StateScope
  readonly name: string
  readonly text: string
  readonly updatedAt: number
  readonly usedAt: number
}

/** When a value is put, and since when it counts as set already if it is the same. Times are in milliseconds. */
export interface JarTime {
  readonly now: number
  readonly knownSince: number
}

/** Where entries end. */
export interface JarHorizon {
  /** What was set at this time or before is too old. */
  readonly updatedAt: number
  /** Session state that was used at this time or before belongs to a context that is over. */
  readonly sessionUsedAt: number
}

/** Where entries lie. It decides nothing: `jarOn` makes a jar of it. Operations are synchronous. */
export interface JarBackend {
  /** Runs something alone: all of it happens, or nothing. */
  atomically<Result>(run: () => Result): Result
  /** Both dictionaries of a connection as they are at one moment, with what has ended. */
  read(owner: JarOwner): JarRecord[]
  put(key: JarKey, set: JarSet, time: JarTime): void
  delete(key: JarKey, name: string): void
  /** Notes that what a connection has, and has not ended, was used. An attempt: it never waits and never fails. */
  touch(owner: JarOwner, now: number, horizon: JarHorizon): void
  count(owner: JarOwner): { ofServer: number; ofPrincipal: number }
  entries(filter: JarFilter): JarEntry[]
  items(filter: JarFilter): (JarEntry & { readonly text: string })[]
  endContext(principal: string, context: string): void
  sweep(horizon: JarHorizon): void
  /** Something was removed for somebody's privacy: nothing of it should stay behind. */
  forget(): void
  close(): void
}

/** Whether the same value need not be put again. A time that lies ahead comes from a clock that was set back. */
export function isKnown(known: Pick<JarRecord, 'text' | 'updatedAt'>, text: string, time: JarTime): boolean {
  return known.text === text && known.updatedAt > time.knownSince && known.updatedAt <= time.now
}

export function serverKey({ server, principal }: Omit<JarKey, 'context'>): JarKey {
  return { server, principal, context: undefined }
}

export function scopeOf({ context }: Pick<JarKey, 'context'>): StateScope {
  return context === undefined ? 'server' : 'session'
}

export function parseKept(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // No cause: the parser's message would quote the value.
    throw new StateError('STORE_CORRUPT', 'An entry of the jar is damaged; restore the file, or move it away.')
  }
}

/**
 * Makes a jar of a backend, with the rules that all jars have in common.
 *
 * Invariants:
 * - a change and the evictions it causes are one transaction;
 * - no name gives access to the entries of another principal or another server;
 * - the least recently used entry is evicted first. The time of last use is written at most once a minute, so that most
 *   reads write nothing.
 */
import {
  type JarLimits,
  type JarSet,
  MAX_BYTES,
  MAX_NAMES,
  MAX_NAMES_PER_SERVER,
  overflow,
  planChange,
} from './rules.ts'
import type { Jar, JarChange, JarContents, JarEntry, JarFilter, JarKey, JarNews, JarOwner } from './store.ts'
import { makeSweeper } from '../stores/expiry.ts'
import type { OptionNames, StateScope } from '../../protocol/index.ts'
import { StateError } from '../errors.ts'
import { parseStored } from '../jsonText.ts'

/** 400 days, the maximum of SEP-1655. It is also the maximum of browsers for cookies. */
const MAX_AGE_SECONDS = 34_560_000

export interface JarOptions {
  /** The maximum size of a name and its value as JSON together, in bytes. @default 4096 */
  maxBytes?: number
  /** The maximum number of names that a request to one server carries. @default 20 */
  maxNamesPerServer?: number
  /** The maximum number of names for one principal, over all servers and contexts. @default 300 */
  maxNames?: number
  /** An entry expires this long after its server has set it last; at most 34560000 (400 days). @default never */
  maxAgeSeconds?: number
  /** Session state expires this long after its last use, because its host may have ended. @default 2592000 */
  sessionIdleSeconds?: number
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
}

export const JAR_OPTIONS: OptionNames<JarOptions> = {
  maxBytes: true,
  maxNamesPerServer: true,
  maxNames: true,
  maxAgeSeconds: true,
  sessionIdleSeconds: true,
  clock: true,
}

export interface JarSettings {
  readonly limits: JarLimits
  /** The shortest time between two writes of the time of last use. */
  readonly noteEveryMs: number
  readonly maxAgeMs: number
  readonly sessionIdleMs: number
  readonly clock: () => number
}

/** Adds the defaults, and refuses invalid options. */
export function jarSettings(options: JarOptions): JarSettings {
  const { maxBytes = MAX_BYTES, maxNamesPerServer = MAX_NAMES_PER_SERVER, maxNames = MAX_NAMES } = options
  const { clock = Date.now, maxAgeSeconds, sessionIdleSeconds = 2_592_000 } = options
  assertCounts({ maxBytes, maxNamesPerServer, maxNames })
  if (maxAgeSeconds !== undefined) assertSeconds('maxAgeSeconds', maxAgeSeconds, MAX_AGE_SECONDS)
  assertSeconds('sessionIdleSeconds', sessionIdleSeconds, Number.POSITIVE_INFINITY)
  return {
    limits: { maxBytes, maxNamesPerServer, maxNames },
    noteEveryMs: Math.min(60_000, sessionIdleSeconds * 100),
    maxAgeMs: (maxAgeSeconds ?? Number.POSITIVE_INFINITY) * 1000,
    sessionIdleMs: sessionIdleSeconds * 1000,
    clock,
  }
}

function assertCounts(counts: Record<string, number>): void {
  for (const [name, count] of Object.entries(counts)) {
    if (!Number.isSafeInteger(count) || count < 1) {
      throw new StateError('STATE_OPTION', `${name} must be a whole number of at least 1.`)
    }
  }
}

function assertSeconds(name: string, seconds: number, max: number): void {
  if (seconds > 0 && seconds <= max) return
  const bound = Number.isFinite(max) ? `, and at most ${max}` : ''
  throw new StateError('STATE_OPTION', `${name} must be more than 0${bound}.`)
}

/** An entry as a backend stores it. The value is JSON text, so that readers cannot change the stored value. */
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

export function createJar(backend: JarBackend, settings: JarSettings): Jar {
  const { limits, noteEveryMs, maxAgeMs, sessionIdleMs } = settings
  const clock = () => Math.trunc(settings.clock())
  const horizonAt = (now: number) => ({ updatedAt: now - maxAgeMs, sessionUsedAt: now - sessionIdleMs })
  const sweep = makeSweeper(clock, (now) => backend.sweep(horizonAt(now)))

  function onlyLive<Kept extends Pick<JarEntry, 'scope' | 'updatedAt' | 'usedAt'>>(kept: Kept[], now: number): Kept[] {
    const { updatedAt, sessionUsedAt } = horizonAt(now)
    return kept.filter((one) => one.updatedAt > updatedAt && (one.scope === 'server' || one.usedAt > sessionUsedAt))
  }

  function readNow(owner: JarOwner): JarContents {
    const kept = backend.read(owner)
    if (kept.length === 0) return { session: {}, server: {} }
    const now = clock()
    const records = onlyLive(kept, now)
    const isStale = records.some(({ usedAt }) => Math.abs(now - usedAt) >= noteEveryMs)
    if (isStale) backend.touch(owner, now, horizonAt(now))
    return { session: dictionary(records, 'session'), server: dictionary(records, 'server') }
  }

  // Every request reads the jar, so the result is not a promise. Errors become a rejected promise: `read` never throws.
  function read(owner: JarOwner): JarContents | Promise<never> {
    try {
      return readNow(owner)
    } catch (error) {
      const reason = error as Error
      return Promise.reject(reason)
    }
  }

  function write(owner: JarOwner, change: JarChange): JarNews[] | Promise<JarNews[]> {
    const plan = planChange(change, limits)
    if (plan.deletes.length + plan.sets.length === 0) return [...plan.news]
    return backend.atomically(() => {
      sweep()
      const now = clock()
      // With a maximum age, an equal value is written again, because that renews its age.
      const knownSince = maxAgeMs === Number.POSITIVE_INFINITY ? now - noteEveryMs : now
      for (const { scope, name } of plan.deletes) backend.delete(keyIn(scope, owner), name)
      for (const set of plan.sets) backend.put(keyIn(set.scope, owner), set, { now, knownSince })
      const { ofServer, ofPrincipal } = backend.count(owner)
      if (ofServer <= limits.maxNamesPerServer && ofPrincipal <= limits.maxNames) return [...plan.news]
      const { principal, server } = owner
      const crowd = ofPrincipal > limits.maxNames ? { principal } : { principal, server }
      const evictions = overflow(backend.entries(crowd), owner, plan, limits)
      for (const { entry } of evictions) backend.delete(entry, entry.name)
      return [...plan.news, ...evictions.map(({ news }) => news)]
    })
  }

  // Expired entries are deleted as well, without a report: no reader could see them.
  async function remove(filter: JarFilter): Promise<JarEntry[]> {
    const removed = await backend.atomically(() => {
      const entries = backend.entries(filter)
      for (const entry of entries) backend.delete(entry, entry.name)
      return onlyLive(entries, clock())
    })
    await backend.erase()
    return removed
  }

  function showNow(filter: JarFilter) {
    return onlyLive(backend.items(filter), clock()).map(({ text, ...entry }) => ({
      ...entry,
      value: parseValue(text),
    }))
  }

  return {
    read,
    write: async (owner, change) => write(owner, change),
    endContext: async ({ principal, context }) => backend.endContext(principal, context),
    list: async (filter = {}) => onlyLive(backend.entries(filter), clock()),
    show: async (filter) => showNow(filter),
    remove,
    clear: async (filter) => (await remove(filter)).length,
    close: () => backend.close(),
  }
}

function keyIn(scope: JarRecord['scope'], owner: JarOwner): JarKey {
  return scope === scopeOf(owner) ? owner : serverKey(owner)
}

// A name may be `__proto__`, which Object.fromEntries makes an ordinary member.
function dictionary(records: readonly JarRecord[], scope: JarRecord['scope']): Record<string, unknown> {
  return Object.fromEntries(
    records.filter((record) => record.scope === scope).map(({ name, text }) => [name, parseValue(text)]),
  )
}

/**
 * Makes a jar of a shelf, by the rules that all stores have in common.
 *
 * Invariants:
 * - a change happens as a whole, together with the evictions it brings;
 * - nobody gets at another principal's entries, or another server's, by any name;
 * - the least recently used goes first, to the minute: use is noted at most so often, so that a read costs no write.
 */
import type { JarSettings } from './options.ts'
import { overflow, planChange } from './rules.ts'
import { type JarRecord, type JarBackend, parseKept, scopeOf, serverKey } from './backend.ts'
import type { Jar, JarChange, JarContents, JarEntry, JarFilter, JarKey, JarNews, JarOwner } from './store.ts'
import { makeSweeper } from '../stores/expiry.ts'

export function createJar(shelf: JarBackend, settings: JarSettings): Jar {
  const { limits, noteEveryMs, maxAgeMs, sessionIdleMs } = settings
  const clock = () => Math.trunc(settings.clock())
  const horizonAt = (now: number) => ({ updatedAt: now - maxAgeMs, sessionUsedAt: now - sessionIdleMs })
  const sweep = makeSweeper(clock, (now) => shelf.sweep(horizonAt(now)))

  function onlyLive<Kept extends Pick<JarEntry, 'scope' | 'updatedAt' | 'usedAt'>>(kept: Kept[], now: number): Kept[] {
    const { updatedAt, sessionUsedAt } = horizonAt(now)
    return kept.filter((one) => one.updatedAt > updatedAt && (one.scope === 'server' || one.usedAt > sessionUsedAt))
  }

  function readNow(owner: JarOwner): JarContents {
    const kept = shelf.read(owner)
    if (kept.length === 0) return { session: {}, server: {} }
    const now = clock()
    const records = onlyLive(kept, now)
    const isNews = records.some(({ usedAt }) => Math.abs(now - usedAt) >= noteEveryMs)
    if (isNews) shelf.touch(owner, now, horizonAt(now))
    return { session: dictionary(records, 'session'), server: dictionary(records, 'server') }
  }

  // With each request it is asked for, so nobody waits for a promise of what is here. It never throws.
  function read(owner: JarOwner): JarContents | Promise<never> {
    try {
      return readNow(owner)
    } catch (error) {
      const reason = error as Error
      return Promise.reject(reason)
    }
  }

  function writeNow(owner: JarOwner, change: JarChange): JarNews[] {
    const plan = planChange(change, limits)
    if (plan.deletes.length + plan.sets.length === 0) return [...plan.news]
    return shelf.atomically(() => {
      sweep()
      const now = clock()
      // With a maximum age, setting the same value again gives it a new term.
      const knownSince = maxAgeMs === Number.POSITIVE_INFINITY ? now - noteEveryMs : now
      for (const { scope, name } of plan.deletes) shelf.delete(keyIn(scope, owner), name)
      for (const set of plan.sets) shelf.put(keyIn(set.scope, owner), set, { now, knownSince })
      const { ofServer, ofPrincipal } = shelf.count(owner)
      if (ofServer <= limits.maxNamesPerServer && ofPrincipal <= limits.maxNames) return [...plan.news]
      const { principal, server } = owner
      const crowd = ofPrincipal > limits.maxNames ? { principal } : { principal, server }
      const evictions = overflow(shelf.entries(crowd), owner, plan, limits)
      for (const { entry } of evictions) shelf.delete(entry, entry.name)
      return [...plan.news, ...evictions.map(({ news }) => news)]
    })
  }

  // What has ended goes as well, but is not told of: for everybody it was gone before.
  function removeNow(filter: JarFilter): JarEntry[] {
    const removed = shelf.atomically(() => {
      const entries = shelf.entries(filter)
      for (const entry of entries) shelf.delete(entry, entry.name)
      return onlyLive(entries, clock())
    })
    shelf.forget()
    return removed
  }

  function showNow(filter: JarFilter) {
    return onlyLive(shelf.items(filter), clock()).map(({ text, ...entry }) => ({ ...entry, value: parseKept(text) }))
  }

  return {
    read,
    write: async (owner, change) => writeNow(owner, change),
    endContext: async ({ principal, context }) => shelf.endContext(principal, context),
    list: async (filter = {}) => onlyLive(shelf.entries(filter), clock()),
    show: async (filter) => showNow(filter),
    remove: async (filter) => removeNow(filter),
    clear: async (filter) => removeNow(filter).length,
    close: () => shelf.close(),
  }
}

function keyIn(scope: JarRecord['scope'], owner: JarOwner): JarKey {
  return scope === scopeOf(owner) ? owner : serverKey(owner)
}

// A name may be `__proto__`: from entries it becomes a member like any other.
function dictionary(records: readonly JarRecord[], scope: JarRecord['scope']): Record<string, unknown> {
  return Object.fromEntries(
    records.filter((record) => record.scope === scope).map(({ name, text }) => [name, parseKept(text)]),
  )
}

/**
 * The rules for setting state (SEP-1655) and the limits on its size, as pure functions.
 *
 * - A dictionary is added to the stored names. A name replaces its whole value and null deletes it; values are not
 *   merged.
 * - A name is any string and a value any JSON. Members of a value that look like attributes (server-scope, max-age,
 *   method-scope) are part of the value, and have no effect.
 * - A name that cannot be stored is refused alone: its old value stays, and the rest of the change is applied.
 */
import { unlessRefused } from '../internal.ts'
import { isObject, STATE_SCOPES, type StateScope, utf8Length } from '../../protocol/index.ts'
import type { JarChange, JarEntry, JarNews, JarOwner } from './store.ts'
import { jsonText } from '../jsonText.ts'

export interface JarLimits {
  readonly maxBytes: number
  readonly maxNamesPerServer: number
  readonly maxNames: number
}

/** The default limits of a jar. */
export const MAX_BYTES = 4096
export const MAX_NAMES_PER_SERVER = 20
export const MAX_NAMES = 300

export interface JarSet {
  readonly scope: StateScope
  readonly name: string
  /** The value as JSON. */
  readonly text: string
  readonly bytes: number
}

export interface JarPlan {
  readonly deletes: readonly { readonly scope: StateScope; readonly name: string }[]
  readonly sets: readonly JarSet[]
  readonly news: readonly JarNews[]
}

/** The deletes, writes and refusals of a change. Names above the limit are refused together, with one notice. */
export function planChange(change: JarChange, limits: JarLimits): JarPlan {
  const deletes: { scope: StateScope; name: string }[] = []
  const sets: JarSet[] = []
  const news: JarNews[] = []
  const room = Math.min(limits.maxNamesPerServer, limits.maxNames)
  for (const scope of STATE_SCOPES) {
    let surplus = 0
    for (const [name, value] of dictionaryOf(change[scope], scope, news)) {
      if (value === null) deletes.push({ scope, name })
      else if (sets.length === room) surplus++
      else planSet(value, { scope, name }, { limits, sets, news })
    }
    if (surplus > 0) news.push(refused(scope, '', `${surplus} names too many were set at once; the limit is ${room}.`))
  }
  return { deletes, sets, news }
}

/** A change with more names than this is refused without looking at them: they would block the event loop. */
const MAX_NAMES_AT_ONCE = 1_000

// JSON has no undefined, so a member that is undefined counts as absent.
function dictionaryOf(state: unknown, scope: StateScope, news: JarNews[]): [string, unknown][] {
  if (state === undefined) return []
  const problem = problemWith(state)
  if (isObject(state) && problem === undefined) return Object.entries(state).filter(([, value]) => value !== undefined)
  news.push(refused(scope, '', `The state that was set ${problem}.`))
  return []
}

function problemWith(state: unknown): string | undefined {
  if (!isObject(state)) return 'is not a dictionary'
  const count = Object.keys(state).length
  return count > MAX_NAMES_AT_ONCE ? `has ${count} names; at most ${MAX_NAMES_AT_ONCE} are read` : undefined
}

interface PlanBuilder {
  limits: JarLimits
  sets: JarSet[]
  news: JarNews[]
}

function planSet(value: unknown, { scope, name }: Pick<JarSet, 'scope' | 'name'>, plan: PlanBuilder): void {
  const { maxBytes } = plan.limits
  const text = textOf(value)
  const bytes = utf8Length(name) + utf8Length(text ?? '')
  if (text === undefined) plan.news.push(refused(scope, name, 'The value is not JSON.'))
  else if (bytes <= maxBytes) plan.sets.push({ scope, name, text, bytes })
  else plan.news.push(refused(scope, name, `Name and value have ${bytes} bytes; the limit is ${maxBytes}.`))
}

function textOf(value: unknown): string | undefined {
  return unlessRefused(() => jsonText(value))
}

/**
 * The entries of a principal to evict after a write, the least recently used first. Values of the current write are
 * evicted last. The names of a server are counted as a request carries them: server state and the session state of one
 * context.
 */
export function overflow(entries: readonly JarEntry[], owner: JarOwner, plan: JarPlan, limits: JarLimits): Eviction[] {
  const oldestFirst = leastUsedFirst(entries, owner, plan)
  const evicted = new Map<JarEntry, string>()
  const evict = (among: readonly JarEntry[], limit: number, reason: string): void => {
    const left = among.filter((entry) => !evicted.has(entry))
    for (const entry of left.slice(0, Math.max(0, left.length - limit))) evicted.set(entry, reason)
  }
  const ofServer = oldestFirst.filter(({ server }) => server === owner.server)
  for (const context of new Set(ofServer.map((entry) => entry.context))) {
    const carried = ofServer.filter((entry) => entry.context === undefined || entry.context === context)
    evict(carried, limits.maxNamesPerServer, `The server has more than ${limits.maxNamesPerServer} names.`)
  }
  evict(oldestFirst, limits.maxNames, `All servers together have more than ${limits.maxNames} names.`)
  return [...evicted].map(([entry, reason]) => ({ entry, news: evictedNews(entry, reason) }))
}

interface Eviction {
  readonly entry: JarEntry
  readonly news: JarNews
}

function leastUsedFirst(entries: readonly JarEntry[], owner: JarOwner, plan: JarPlan): JarEntry[] {
  const isWritten = ({ server, context, scope, name }: JarEntry): boolean =>
    server === owner.server &&
    (context === undefined || context === owner.context) &&
    plan.sets.some((set) => set.scope === scope && set.name === name)
  const [others, written] = [entries.filter((entry) => !isWritten(entry)), entries.filter(isWritten)]
  return [...byUse(others), ...written]
}

// With equal times, session state is evicted first. The rest of the order is arbitrary, but the same in all jars.
function byUse(entries: readonly JarEntry[]): JarEntry[] {
  const ties = new Map(entries.map((entry) => [entry, tieOf(entry)]))
  const compareTies = (a: JarEntry, b: JarEntry) => ((ties.get(a) ?? '') < (ties.get(b) ?? '') ? -1 : 1)
  return entries.toSorted((a, b) => a.usedAt - b.usedAt || a.updatedAt - b.updatedAt || compareTies(a, b))
}

function tieOf({ scope, server, context, name }: JarEntry): string {
  return JSON.stringify([scope === 'session' ? 0 : 1, server, context, name])
}

function evictedNews({ server, scope, name }: JarEntry, reason: string): JarNews {
  return { kind: 'evicted', scope, name, reason: `${reason} This one, of ${server}, was unused the longest.` }
}

function refused(scope: StateScope, name: string, reason: string): JarNews {
  return { kind: 'refused', scope, name: name.length > 128 ? `${name.slice(0, 127)}…` : name, reason }
}

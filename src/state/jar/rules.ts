/**
 * The rules of setting state (SEP-1655), and of the room there is for it, as decisions about plain data.
 *
 * - A dictionary adds to what is there. A name replaces its whole value, null deletes it; nothing is merged deeper.
 * - Names are any strings and values any JSON. What looks like an attribute inside a value (server-scope, max-age,
 *   method-scope) is part of the value, and has no effect.
 * - What cannot be kept is refused by itself, and what was there before stays; the rest of the change counts.
 */
import { Buffer } from 'node:buffer'
import { isObject, STATE_SCOPES, type StateScope } from '../../protocol/index.ts'
import { StateError } from '../errors.ts'
import type { JarLimits } from './options.ts'
import type { JarChange, JarEntry, JarNews, JarOwner } from './store.ts'
import { jsonText } from '../jsonText.ts'

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

/** What a change comes down to. More names than would stay are refused beyond that number, all in one piece of news. */
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
      else takeValue(value, { scope, name }, { limits, sets, news })
    }
    if (surplus > 0) news.push(refused(scope, '', `${surplus} names too many were set at once; the limit is ${room}.`))
  }
  return { deletes, sets, news }
}

/** What names more is nothing that anybody could keep, and is not gone through: it could hold up everybody else. */
const MAX_NAMES_AT_ONCE = 1_000

// What is undefined would not exist on the wire, so it does not exist here.
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

interface Taking {
  limits: JarLimits
  sets: JarSet[]
  news: JarNews[]
}

function takeValue(value: unknown, { scope, name }: Pick<JarSet, 'scope' | 'name'>, taking: Taking): void {
  const { maxBytes } = taking.limits
  const text = textOf(value)
  const bytes = Buffer.byteLength(name) + Buffer.byteLength(text ?? '')
  if (text === undefined) taking.news.push(refused(scope, name, 'The value is not JSON.'))
  else if (bytes <= maxBytes) taking.sets.push({ scope, name, text, bytes })
  else taking.news.push(refused(scope, name, `Name and value have ${bytes} bytes; the limit is ${maxBytes}.`))
}

function textOf(value: unknown): string | undefined {
  try {
    return jsonText(value)
  } catch (error) {
    if (error instanceof StateError) return undefined
    throw error
  }
}

/**
 * Which entries of a principal must go after a write, the least recently used first. What the write itself set stays.
 * A server's names are counted as a request carries them: its server state and the session state of one context.
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

// Where all is equal, session state goes first, and the rest is order for its own sake: every store decides alike.
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

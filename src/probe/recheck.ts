/** A verdict that was kept: whether it is young enough, and what has changed since. Servers get upgraded. */
import { nameOf, plainLine, type Target } from '../client/index.ts'
import { isObject, type Json } from '../protocol/index.ts'
import type { ProbeOptions } from './options.ts'
import { probe } from './probe.ts'
import type { Verdict } from './report/report.ts'

const DAY_MS = 86_400_000

export interface Freshness {
  /** How old a verdict may be, in milliseconds. @default 86400000, a day */
  maxAgeMs?: number
  /** Milliseconds since 1970. @default Date.now */
  clock?: () => number
}

/** What could not be decided is never fresh: the next attempt may tell. Nor is what is no verdict, wherever it was kept. */
export function isFresh(kept: Verdict, { maxAgeMs = DAY_MS, clock = Date.now }: Freshness = {}): boolean {
  const { state, checkedAt } = readKept(kept)
  if (typeof checkedAt !== 'number' || (state !== 'STATELESS' && state !== 'STATEFUL')) return false
  const ageMs = clock() - checkedAt
  return ageMs >= 0 && ageMs < maxAgeMs
}

export interface Rechecked {
  /** The one that was kept where it is fresh, else a new one. */
  readonly verdict: Verdict
  /** Whether the server was asked. */
  readonly isNew: boolean
  /** What is different, as sentences; none where nothing is. */
  readonly changes: readonly string[]
}

/** A verdict about another target says nothing about this one. */
export async function recheck(
  target: Target,
  kept: Verdict,
  options: ProbeOptions & Freshness = {},
): Promise<Rechecked> {
  const isOfThis = readKept(kept).target === nameOf(target)
  if (isOfThis && isFresh(kept, options)) return { verdict: kept, isNew: false, changes: [] }
  const verdict = await probe(target, options)
  return { verdict, isNew: true, changes: isOfThis ? changesBetween(readKept(kept), verdict) : [] }
}

/** It may come from a file, of another version or changed by hand. */
function readKept(kept: unknown): Json {
  return isObject(kept) ? kept : {}
}

/** A verdict of UNKNOWN is no change: nothing is known about it. */
function changesBetween(before: Json, after: Verdict): string[] {
  const { version } = isObject(before['server']) ? before['server'] : {}
  const facts = [
    ['state', before['state'], after.state],
    ['era', before['era'], after.era],
    ['version', version, after.server?.version],
  ] as const
  return facts.flatMap(([fact, was, is]) =>
    isTold(was) && isTold(is) && was !== is ? [`The ${fact} was ${plainLine(was)} and is ${is}.`] : [],
  )
}

function isTold(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !/^unknown$/i.test(value)
}

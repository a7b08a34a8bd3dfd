/** Stored verdicts: whether one is still fresh, and what has changed since. Servers get upgraded. */
import { nameOf, plainLine, type Target } from '../client/index.ts'
import { DAY_MS, isObject, type Json } from '../protocol/index.ts'
import type { ProbeOptions } from './options.ts'
import { probe } from './probe.ts'
import type { Verdict } from './report/report.ts'

export interface Freshness {
  /** How old a verdict may be, in milliseconds. @default 86400000, a day */
  maxAgeMs?: number
  /** Milliseconds since 1970. @default Date.now */
  clock?: () => number
}

/** UNKNOWN is never fresh, because the next attempt may decide; nor is anything that is not a verdict. */
export function isFresh(stored: Verdict, { maxAgeMs = DAY_MS, clock = Date.now }: Freshness = {}): boolean {
  const { state, checkedAt } = readStored(stored)
  if (typeof checkedAt !== 'number' || (state !== 'STATELESS' && state !== 'STATEFUL')) return false
  const ageMs = clock() - checkedAt
  return ageMs >= 0 && ageMs < maxAgeMs
}

export interface Rechecked {
  /** The stored one where it is fresh, else a new one. */
  readonly verdict: Verdict
  /** Whether the server was probed again. */
  readonly isNew: boolean
  /** The differences, as sentences. */
  readonly changes: readonly string[]
}

/** Probes again unless the stored verdict is fresh. A verdict about another target counts as none. */
export async function recheck(
  target: Target,
  stored: Verdict,
  options: ProbeOptions & Freshness = {},
): Promise<Rechecked> {
  const isOfThis = readStored(stored).target === nameOf(target)
  if (isOfThis && isFresh(stored, options)) return { verdict: stored, isNew: false, changes: [] }
  const verdict = await probe(target, options)
  return { verdict, isNew: true, changes: isOfThis ? changesBetween(readStored(stored), verdict) : [] }
}

/** A stored verdict may come from another version, or may have been edited. */
function readStored(stored: unknown): Json {
  return isObject(stored) ? stored : {}
}

/** UNKNOWN on either side is not reported as a change. */
function changesBetween(before: Json, after: Verdict): string[] {
  const { version } = isObject(before['server']) ? before['server'] : {}
  const facts = [
    ['state', before['state'], after.state],
    ['era', before['era'], after.era],
    ['version', version, after.server?.version],
  ] as const
  return facts.flatMap(([fact, was, is]) =>
    isReported(was) && isReported(is) && was !== is ? [`The ${fact} was ${plainLine(was)} and is ${is}.`] : [],
  )
}

function isReported(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !/^unknown$/i.test(value)
}

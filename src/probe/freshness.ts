/** A verdict that was kept: whether it is young enough, and what has changed since. Servers get upgraded. */
import type { Target } from '../client/index.ts'
import type { ProbeOptions } from './options.ts'
import { probe } from './probe.ts'
import type { Verdict } from './report.ts'

const DAY_MS = 86_400_000

export interface Freshness {
  /** How old a verdict may be, in milliseconds. @default 86400000, a day */
  maxAgeMs?: number
  /** Milliseconds since 1970. @default Date.now */
  clock?: () => number
}

/** What could not be decided is never fresh: the next attempt may tell. */
export function isFresh(
  { state, checkedAt }: Verdict,
  { maxAgeMs = DAY_MS, clock = Date.now }: Freshness = {},
): boolean {
  const ageMs = clock() - checkedAt
  return state !== 'UNKNOWN' && ageMs >= 0 && ageMs < maxAgeMs
}

export interface Rechecked {
  /** The one that was kept where it is fresh, else a new one. */
  readonly verdict: Verdict
  /** Whether the server was asked. */
  readonly isNew: boolean
  /** What is different, as sentences; none where nothing is. */
  readonly changes: readonly string[]
}

export async function recheck(
  target: Target,
  kept: Verdict,
  options: ProbeOptions & Freshness = {},
): Promise<Rechecked> {
  if (isFresh(kept, options)) return { verdict: kept, isNew: false, changes: [] }
  const verdict = await probe(target, options)
  return { verdict, isNew: true, changes: changesBetween(kept, verdict) }
}

/** A verdict of UNKNOWN is no change: nothing is known about it. */
function changesBetween(before: Verdict, after: Verdict): string[] {
  const facts = [
    ['state', before.state, after.state],
    ['era', before.era, after.era],
    ['version', before.server?.version ?? '', after.server?.version ?? ''],
  ] as const
  return facts
    .filter(([, was, is]) => was !== is && !/^unknown$/i.test(was) && !/^unknown$/i.test(is) && was !== '' && is !== '')
    .map(([fact, was, is]) => `The ${fact} was ${was} and is ${is}.`)
}

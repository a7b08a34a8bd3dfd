/** What was found of a gateway of others, as plain data that can be stored. */
import { FATES, type Fate } from './judge.ts'

/** How many kills, and how calls ended. */
export type FateCount = Record<Fate | 'kills', number>

export interface Trial {
  readonly name: string
  readonly version: string
  /** By cell: nothing where it works, else what was seen. */
  readonly cells: Record<string, string>
  /** Cells whose behaviour the documentation names. */
  readonly claimed: readonly string[]
  /** The same as `cells`, with two behind a balancer. */
  readonly two: Record<string, string>
  /** By victim; `later` is what was done twice after its scenario. */
  readonly kills: Record<string, FateCount>
  /** What callers were told, and how often. */
  readonly told: Record<string, number>
  /** How often it did not serve any more five seconds after a kill, and was started anew. */
  revived: number
  /** Processes left behind. */
  left: number
  seconds: number
}

export function emptyFates(): FateCount {
  return Object.fromEntries([['kills', 0], ...FATES.map((fate) => [fate, 0])]) as FateCount
}

export function addFates(sum: FateCount, fates: readonly Fate[], kills = 1): void {
  sum.kills += kills
  for (const fate of fates) sum[fate]++
}

export function sumOf({ kills }: Trial): FateCount {
  const sum = emptyFates()
  for (const count of Object.values(kills)) for (const key of ['kills', ...FATES] as const) sum[key] += count[key]
  return sum
}

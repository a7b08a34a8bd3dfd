/** Which cells are run, and where something is killed: evenly over cells, victims and messages. */
import { type Cell, nameOf } from './cells.ts'
import { VICTIMS, type Victim } from './scenario.ts'

export interface PlannedKill {
  readonly cell: Cell
  readonly victim: Victim
  /** At which part of all its messages, from 0 to 1. */
  readonly at: number
}

/** One of several parts of a whole run, which together are the whole. */
export interface Slice {
  readonly part: number
  readonly of: number
}

const GOLDEN = (Math.sqrt(5) - 1) / 2

/**
 * Each pair of a cell and a victim by turns, in an order that mixes them; each time a pair comes, at another of its messages.
 * Steps of the golden ratio divide a range evenly, however many there are.
 */
export function planKills(
  cells: readonly Cell[],
  kills: number,
  victims: readonly Victim[] = VICTIMS,
): readonly PlannedKill[] {
  const pairs = cells
    .flatMap((cell) => victims.map((victim) => ({ cell, victim, seed: hash(`${nameOf(cell)} ${victim}`) })))
    .toSorted((a, b) => a.seed - b.seed)
  return Array.from({ length: pairs.length === 0 ? 0 : kills }, (_, turn) => {
    const { cell, victim } = pairs[turn % pairs.length] as (typeof pairs)[number]
    return { cell, victim, at: (turn * GOLDEN + Math.floor(turn / pairs.length) * GOLDEN) % 1 }
  })
}

export function sliceOf<T>(all: readonly T[], { part, of }: Slice): readonly T[] {
  return all.filter((_, index) => index % of === part - 1)
}

/** FNV-1a, for an order that is the same in each run. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (const char of text) value = Math.imul(value ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0
  return value
}

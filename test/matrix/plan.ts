/** Which cells are run, and where a fault happens: evenly over cells, faults and messages. */
import { type Cell, nameOf } from './cells.ts'
import { type Fault, faultName, FAULTS } from './faults.ts'

export interface PlannedFault {
  readonly cell: Cell
  readonly fault: Fault
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
 * Each fault by turns, and for each of them all cells by turns, in an order that mixes them; each time a pair comes, at another
 * of its messages. Steps of the golden ratio divide a range evenly, however many there are.
 */
export function planFaults(
  cells: readonly Cell[],
  count: number,
  faults: readonly Fault[] = FAULTS,
): readonly PlannedFault[] {
  if (cells.length === 0 || faults.length === 0) return []
  const queues = faults.map((fault) => ({ fault, queue: mixed(cells, faultName(fault)) }))
  return Array.from({ length: count }, (_, turn) => {
    const { fault, queue } = queues[turn % queues.length] as (typeof queues)[number]
    const cell = queue[Math.floor(turn / queues.length) % queue.length] as Cell
    return { cell, fault, at: ((turn + Math.floor(turn / (cells.length * faults.length))) * GOLDEN) % 1 }
  })
}

/** The same order in each run. */
function mixed(cells: readonly Cell[], seed: string): readonly Cell[] {
  return cells.toSorted((a, b) => hash(`${nameOf(a)} ${seed}`) - hash(`${nameOf(b)} ${seed}`))
}

export function sliceOf<T>(all: readonly T[], { part, of }: Slice): readonly T[] {
  return all.filter((_, index) => index % of === part - 1)
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (const char of text) value = Math.imul(value ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0
  return value
}

/** What the matrix has found so far, as plain data that can be stored and added up. */
import { type Cell, nameOf } from './cells.ts'
import { WAYS, type Way } from './fleet/passing.ts'
import { type ScenarioResult, VICTIMS, type Victim } from './scenario.ts'
import { toldBy } from './verdict.ts'

export interface KillCount {
  kills: number
  /** Calls with the right result, of two in each run. */
  right: number
  /** Calls that ended with an error that says why. */
  told: number
  violations: number
}

export interface Remains {
  readonly server: string
  readonly kills: number
  readonly heapMb: number
  readonly heapMbBefore: number
}

export interface Tally {
  /** By cell: what was wrong when nothing was killed. */
  readonly cells: Record<string, readonly string[]>
  /** By victim and way. */
  readonly kills: Record<string, KillCount>
  /** What callers were told, and how often. */
  readonly told: Record<string, number>
  readonly violations: string[]
  /** Told of each as it is found. */
  readonly onViolation?: (line: string) => void
  readonly remains: Remains[]
  orphans: number
  seconds: number
}

export function emptyTally(onViolation: (line: string) => void = () => {}): Tally {
  const violations: string[] = []
  const tally: Tally = { cells: {}, kills: {}, told: {}, violations, remains: [], orphans: 0, seconds: 0 }
  return Object.defineProperty(tally, 'onViolation', { value: onViolation })
}

export function violate(tally: Tally, violation: string): void {
  tally.violations.push(violation)
  tally.onViolation?.(violation)
}

export function countOf(
  { kills }: Tally,
  victims: readonly Victim[] = VICTIMS,
  ways: readonly Way[] = WAYS,
): KillCount {
  const sum: KillCount = { kills: 0, right: 0, told: 0, violations: 0 }
  for (const victim of victims) for (const way of ways) addCount(sum, kills[`${victim}, ${way}`])
  return sum
}

export function noteRun(tally: Tally, cell: Cell, { violations }: ScenarioResult): void {
  tally.cells[nameOf(cell)] = violations
  note(tally, `${nameOf(cell)}, left alone`, violations)
}

export function noteKill(tally: Tally, cell: Cell, victim: Victim, result: ScenarioResult): void {
  const { killedAt, ends, violations } = result
  if (killedAt === undefined) return
  const count: KillCount = { kills: 1, right: 0, told: 0, violations: violations.length }
  for (const end of ends) {
    const told = toldBy(end)
    if (end.kind === 'result' && end.isRight) count.right++
    else if (told !== undefined) {
      count.told++
      const sentence = told.replaceAll(/(ann|bob)-\d+-/g, 'KEY')
      tally.told[sentence] = (tally.told[sentence] ?? 0) + 1
    }
  }
  addCount((tally.kills[`${victim}, ${killedAt}`] ??= { kills: 0, right: 0, told: 0, violations: 0 }), count)
  note(tally, `${nameOf(cell)}, ${victim} killed at ${killedAt}`, violations)
}

export function addTally(sum: Tally, other: Tally): void {
  Object.assign(sum.cells, other.cells)
  for (const [key, count] of Object.entries(other.kills))
    addCount((sum.kills[key] ??= { kills: 0, right: 0, told: 0, violations: 0 }), count)
  for (const [sentence, times] of Object.entries(other.told)) sum.told[sentence] = (sum.told[sentence] ?? 0) + times
  sum.violations.push(...other.violations)
  sum.remains.push(...other.remains)
  sum.orphans += other.orphans
  sum.seconds += other.seconds
}

function addCount(sum: KillCount, count: KillCount | undefined): void {
  if (count === undefined) return
  sum.kills += count.kills
  sum.right += count.right
  sum.told += count.told
  sum.violations += count.violations
}

function note(tally: Tally, where: string, violations: readonly string[]): void {
  for (const violation of violations) violate(tally, `${where}: ${violation}`)
}

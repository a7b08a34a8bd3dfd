/** What the matrix has found so far, as plain data that can be stored and added up. */
import { type Cell, nameOf } from './cells.ts'
import type { Form } from './fleet/forms.ts'
import { WAYS, type Way } from './fleet/passing.ts'
import { type Fault, FAULTS, faultName } from './faults.ts'
import type { ScenarioResult } from './scenario.ts'
import { toldBy } from './verdict.ts'

export interface FaultCount {
  faults: number
  /** Calls with the right result. */
  right: number
  /** Calls that ended with an error that says why. */
  told: number
  violations: number
}

export interface Remains {
  readonly server: string
  readonly faults: number
  readonly heapMb: number
  readonly heapMbBefore: number
}

export interface Tally {
  /** By cell: what was wrong when it was left alone. */
  readonly cells: Record<string, readonly string[]>
  /** By fault and way. */
  readonly faults: Record<string, FaultCount>
  /** What callers were told, and how often. */
  readonly told: Record<string, number>
  readonly violations: string[]
  /** Told of each as it is found. */
  readonly onViolation?: (line: string) => void
  readonly remains: Remains[]
  /** By form of the fleet. */
  readonly fleets: Record<string, FaultCount & { readonly seconds: number }>
  orphans: number
  seconds: number
}

export function emptyTally(onViolation: (line: string) => void = () => {}): Tally {
  const violations: string[] = []
  const tally: Tally = { cells: {}, faults: {}, told: {}, violations, remains: [], fleets: {}, orphans: 0, seconds: 0 }
  return Object.defineProperty(tally, 'onViolation', { value: onViolation })
}

export function violate(tally: Tally, violation: string): void {
  tally.violations.push(violation)
  tally.onViolation?.(violation)
}

export function countOf(
  { faults }: Tally,
  of: (fault: Fault) => boolean = () => true,
  ways: readonly Way[] = WAYS,
): FaultCount {
  const sum = noFaults()
  for (const fault of FAULTS.filter(of)) for (const way of ways) addCount(sum, faults[`${faultName(fault)}, ${way}`])
  return sum
}

export function noteRun(tally: Tally, form: Form, cell: Cell, { violations }: ScenarioResult): void {
  tally.cells[form === 'gateways' ? nameOf(cell) : `${form}: ${nameOf(cell)}`] = violations
  note(tally, `${nameOf(cell)}, left alone`, violations)
}

export function noteFault(tally: Tally, cell: Cell, fault: Fault, result: ScenarioResult): void {
  const { struckAt, ends, violations } = result
  if (struckAt === undefined) return
  const count: FaultCount = { faults: 1, right: 0, told: 0, violations: violations.length }
  for (const end of ends) {
    const told = toldBy(end)
    if (end.kind === 'result' && end.isRight) count.right++
    else if (told !== undefined) {
      count.told++
      const sentence = told.replaceAll(/(ann|bob)-\d+-\d*/g, 'KEY')
      tally.told[sentence] = (tally.told[sentence] ?? 0) + 1
    }
  }
  addCount((tally.faults[`${faultName(fault)}, ${struckAt}`] ??= noFaults()), count)
  note(tally, `${nameOf(cell)}, ${faultName(fault)} at ${struckAt}`, violations)
}

export function addTally(sum: Tally, other: Tally): void {
  Object.assign(sum.cells, other.cells)
  for (const [key, count] of Object.entries(other.faults)) addCount((sum.faults[key] ??= noFaults()), count)
  for (const [sentence, times] of Object.entries(other.told)) sum.told[sentence] = (sum.told[sentence] ?? 0) + times
  sum.violations.push(...other.violations)
  sum.remains.push(...other.remains)
  for (const [form, count] of Object.entries(other.fleets)) {
    const fleet = { ...(sum.fleets[form] ?? { ...noFaults(), seconds: 0 }) }
    addCount(fleet, count)
    sum.fleets[form] = { ...fleet, seconds: fleet.seconds + count.seconds }
  }
  sum.orphans += other.orphans
  sum.seconds += other.seconds
}

function noFaults(): FaultCount {
  return { faults: 0, right: 0, told: 0, violations: 0 }
}

function addCount(sum: FaultCount, count: FaultCount | undefined): void {
  if (count === undefined) return
  sum.faults += count.faults
  sum.right += count.right
  sum.told += count.told
  sum.violations += count.violations
}

function note(tally: Tally, where: string, violations: readonly string[]): void {
  for (const violation of violations) violate(tally, `${where}: ${violation}`)
}

/** What counts as passed. The suite's own verdict is milder: it lets pass what was not exercised at all. */
import type { Check } from './suite.ts'

/** `vacuous`: nothing failed, but nothing succeeded either. `missing`: the scenario did not run to its end. */
export type Verdict = 'passed' | 'failed' | 'vacuous' | 'missing'

export interface Result {
  readonly scenario: string
  readonly checks: readonly Check[]
  readonly verdict: Verdict
}

/** Made of every message on the wire, so it proves nothing about a scenario's own subject. */
const WIRE_CHECK = 'wire-schema-valid'

export function judge(scenario: string, checks: readonly Check[] | undefined): Result {
  return { scenario, checks: checks ?? [], verdict: checks === undefined ? 'missing' : verdictOn(checks) }
}

function verdictOn(checks: readonly Check[]): Verdict {
  if (checks.some(({ status }) => status === 'FAILURE')) return 'failed'
  return checks.some(({ id, status }) => status === 'SUCCESS' && id !== WIRE_CHECK) ? 'passed' : 'vacuous'
}

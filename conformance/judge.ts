/** What counts as passed. The suite's own verdict is milder: it lets pass what was not exercised at all. */
import type { Check, Revision, SuiteRun } from './suite.ts'

/** `vacuous`: nothing failed, but nothing succeeded either. `missing`: the scenario did not run to its end. */
export type Verdict = 'passed' | 'failed' | 'vacuous' | 'missing'

/** Who was tested, and with which revision. */
export interface Subject {
  readonly who: string
  readonly revision: Revision
}

export interface Result extends Subject {
  readonly scenario: string
  readonly checks: readonly Check[]
  readonly verdict: Verdict
  /** What the suite wrote, where the checks do not tell why. */
  readonly output?: string
}

/** Made of every message on the wire, so it proves nothing about a scenario's own subject. */
const WIRE_CHECK = 'wire-schema-valid'

/** A server scenario, from a run of many. */
export function judgeServer(subject: Subject, scenario: string, { checks, output }: SuiteRun): Result {
  const own = checks.get(scenario)
  const verdict = own === undefined ? 'missing' : verdictOn(own)
  return { ...subject, scenario, checks: own ?? [], verdict, ...(own === undefined && { output }) }
}

/** A client scenario, run alone: the suite also fails it for warnings, for its client's exit code, and for its time. */
export function judgeClient(subject: Subject, scenario: string, run: SuiteRun): Result {
  const result = judgeServer(subject, scenario, run)
  if (run.exitCode === 0 || result.verdict !== 'passed') return result
  return { ...result, verdict: 'failed', output: run.output }
}

function verdictOn(checks: readonly Check[]): Verdict {
  if (checks.some(({ status }) => status === 'FAILURE')) return 'failed'
  return checks.some(({ id, status }) => status === 'SUCCESS' && id !== WIRE_CHECK) ? 'passed' : 'vacuous'
}

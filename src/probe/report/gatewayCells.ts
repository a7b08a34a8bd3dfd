/** The cells of a server that was probed, as a gateway would serve it that knows no more of it than the probe. */
import { isObject } from '../../protocol/index.ts'
import { type Findings, selfDescriptionOf } from '../decision/findings.ts'
import type { Decision, ProbeFinding } from '../decision/result.ts'
import type { TwoFindings } from '../decision/twoFindings.ts'
import { sseEndpointIn } from '../wire/sse.ts'
import { type Cell, cellsOf, declaredAbilities } from './cells.ts'

/** What says more of a process than how its tools sound. */
const KNOWLEDGE: ReadonlySet<string> = new Set(['metadata', 'witness', 'declaration'])

/** Whether a process is known to keep nothing, and this is no guess from what its tools say. */
export function isKnownStateless({ state, decidedBy }: ProbeFinding): boolean {
  return state === 'STATELESS' && KNOWLEDGE.has(decidedBy)
}

/** Undefined where the server said too little of itself. */
export function gatewayCells(
  findings: Findings,
  two: TwoFindings,
  { state }: Decision,
): readonly [Cell, Cell] | undefined {
  const about = selfDescriptionOf(findings)
  if (about === undefined) return undefined
  const { capabilities } = about
  const era = findings.era?.era === 'modern' ? 'modern' : 'legacy'
  return cellsOf({
    era,
    transport: transportOf(findings),
    isShared: state !== 'STATEFUL' && mayBeShared(findings, two),
    has: declaredAbilities(era, isObject(capabilities) ? capabilities : {}),
    knowsCallers: false,
    gateways: 'one',
  })
}

function transportOf({ transport, sseStream }: Findings): 'http' | 'sse' | 'stdio' {
  return sseStream !== undefined && sseEndpointIn(sseStream) !== undefined ? 'sse' : transport
}

/** Over HTTP callers share what has no session; a process they share only if it is known to keep nothing. */
function mayBeShared(findings: Findings, { process }: TwoFindings): boolean {
  if (findings.transport === 'stdio') return isKnownStateless(process)
  return transportOf(findings) === 'http' && findings.initialize?.http?.session === undefined
}

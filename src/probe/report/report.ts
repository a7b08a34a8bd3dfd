/** What a probe comes to, put together from what it found. */
import { plainLine } from '../../client/index.ts'
import type { Era } from '../../protocol/index.ts'
import type { Checked } from '../checks/runChecks.ts'
import { type Declared, serverInfoIn, untruths } from '../methods/declared.ts'
import { type CheckName, type Evidence, evidence } from './evidence.ts'
import { aboutOf, declaredBy, type Findings, methodsOf, versionsOf } from '../decision/findings.ts'
import { isResult } from '../wire/reply.ts'
import { oldEndpoint } from '../wire/sse.ts'
import type { Method, MethodResult } from '../methods/result.ts'
import type { Decision } from '../decision/result.ts'

/** What was decided, and why. Plain JSON: it can be stored and looked at later. */
export interface Verdict extends Decision {
  /** The server, as people know it. */
  readonly target: string
  readonly transport: 'http' | 'stdio'
  readonly era: Era | 'unknown'
  /** The revisions that it is known to speak. */
  readonly versions: readonly string[]
  /** What it calls itself. Nobody has verified it. */
  readonly server?: { readonly name: string; readonly version: string }
  readonly methods: Partial<Record<Method, MethodResult>>
  readonly declared?: Declared
  readonly evidence: readonly Evidence[]
  /** Checks that were left out, because they would have taken more requests than are allowed. */
  readonly notAsked: readonly CheckName[]
  /** How many HTTP requests were sent; 0 for a program. */
  readonly requests: number
  readonly durationMs: number
  /** When that was, in milliseconds since 1970. */
  readonly checkedAt: number
}

/** The part of a verdict that the server had a say in. */
export type Report = Omit<Verdict, 'target' | 'requests' | 'durationMs' | 'checkedAt'>

export function report(findings: Findings, decided: Decision, checked: Checked): Report {
  const declared = declaredBy(findings)
  return {
    ...decided,
    transport: findings.transport,
    era: eraOf(findings),
    versions: versionsOf(findings),
    ...serverOf(findings),
    methods: methodsOf(findings),
    ...(declared !== undefined && { declared }),
    evidence: [...checked.evidence, ...declaration(findings, decided)],
    notAsked: checked.notAsked,
  }
}

function serverOf(findings: Findings): Pick<Verdict, 'server'> {
  const about = aboutOf(findings)
  const { name, version } = about === undefined ? {} : serverInfoIn(about)
  if (typeof name !== 'string') return {}
  return { server: { name: plainLine(name, 100), version: plainLine(typeof version === 'string' ? version : '', 40) } }
}

function eraOf({ era, initialize, oldStream }: Findings): Verdict['era'] {
  if (era?.era === 'modern') return 'modern'
  const isOld = oldStream !== undefined && oldEndpoint(oldStream) !== undefined
  return isResult(initialize) || isOld ? 'legacy' : 'unknown'
}

/** What it declares, held against what was found. */
function declaration(findings: Findings, { state, decidedBy }: Decision): readonly Evidence[] {
  const declared = declaredBy(findings)
  if (declared === undefined) return []
  const lies = decidedBy === 'declaration' ? [] : untruths(declared, state, findings.transport)
  const sentence =
    lies.length === 0 ? 'What it declares about its sessions agrees with what was found.' : lies.join(' ')
  return evidence('declared', 'UNKNOWN', sentence, { declared, holds: lies.length === 0 })
}

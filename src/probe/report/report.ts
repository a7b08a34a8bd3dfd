/** The verdict, put together from the findings, the decision and the checks. */
import { plainLine } from '../../client/index.ts'
import { type Era, LEGACY_VERSIONS, MODERN_VERSION, isObject } from '../../protocol/index.ts'
import { type Declared, serverInfoIn, contradictions } from '../methods/declared.ts'
import { CHECKS, type CheckName, type CheckResults, type Evidence, evidence } from './evidence.ts'
import { selfDescriptionOf, declaredBy, type Findings, methodsOf, versionsOf } from '../decision/findings.ts'
import { isResult } from '../wire/reply.ts'
import { sseEndpointIn } from '../wire/sse.ts'
import { type Method, type MethodResult, METHODS, STATES } from '../methods/result.ts'
import type { Decision, ProbeFinding } from '../decision/result.ts'
import type { TwoFindings } from '../decision/twoFindings.ts'
import { type Cell, cellsOf, declaredAbilities } from './cells.ts'

/** The verdict and its reasons. Plain JSON, so it can be stored. */
export interface Verdict extends Decision {
  /** The server's name for people: its URL, command or entry, without secrets. */
  readonly target: string
  /** Whether the protocol needs a session, as its behaviour shows. STATEFUL means that it does. */
  readonly protocol: ProbeFinding
  /** Whether the server seems to keep something in its process between calls. STATEFUL means that it does. */
  readonly process: ProbeFinding
  /** How the server was reached. */
  readonly transport: 'http' | 'stdio'
  /** The era that the server speaks. */
  readonly era: Era | 'unknown'
  /** The protocol revisions that the server is known to support. */
  readonly versions: readonly string[]
  /** The name and version that the server gives itself. Not verified. */
  readonly server?: { readonly name: string; readonly version: string }
  /** The result of each method that was used. */
  readonly methods: Partial<Record<Method, MethodResult>>
  /** The server's declarations about itself. */
  readonly declared?: Declared
  /** The server's features behind a gateway for clients of each era, if it was reached. */
  readonly cells?: readonly [Cell, Cell]
  /** The findings of the checks. */
  readonly evidence: readonly Evidence[]
  /** Checks that were left out, because they would have taken more requests or time than is allowed. */
  readonly notAsked: readonly CheckName[]
  /** How many requests were sent: over HTTP, or to the processes of a program. */
  readonly requests: number
  /** How long the probe took, in milliseconds. */
  readonly durationMs: number
  /** When the probe ended, in milliseconds since 1970. */
  readonly checkedAt: number
}

/** The words that a verdict is written in. They are never hidden as secrets: the verdict could not be read without them. */
export const REPORT_WORDS: readonly string[] = [
  ...STATES,
  ...CHECKS,
  ...Object.keys(METHODS),
  ...LEGACY_VERSIONS,
  ...'transport control declaration witness nothing legacy modern unknown medium'.split(' '),
  ...'sessions initialized initialization stateless stateful'.split(' '),
  MODERN_VERSION,
]

/** The part of a verdict that may hold text from the server. */
export type ServerReport = Omit<Verdict, 'target' | 'requests' | 'durationMs' | 'checkedAt'>

export function report(findings: Findings, two: TwoFindings, decided: Decision, results: CheckResults): ServerReport {
  const declared = declaredBy(findings)
  const cells = gatewayCells(findings, two, decided)
  return {
    ...decided,
    ...two,
    transport: findings.transport,
    era: eraOf(findings),
    versions: versionsOf(findings),
    ...serverOf(findings),
    methods: methodsOf(findings),
    ...(declared !== undefined && { declared }),
    ...(cells !== undefined && { cells }),
    evidence: [...results.evidence, ...declaration(findings, decided, results.evidence)],
    notAsked: results.notAsked,
  }
}

function serverOf(findings: Findings): Pick<Verdict, 'server'> {
  const about = selfDescriptionOf(findings)
  const { name, version } = about === undefined ? {} : serverInfoIn(about)
  if (typeof name !== 'string') return {}
  return { server: { name: plainLine(name, 100), version: plainLine(typeof version === 'string' ? version : '', 40) } }
}

function eraOf({ era, initialize, sseStream }: Findings): Verdict['era'] {
  if (era?.era === 'modern') return 'modern'
  const isOld = sseStream !== undefined && sseEndpointIn(sseStream) !== undefined
  return isResult(initialize) || isOld ? 'legacy' : 'unknown'
}

/** Compares the server's declarations with the findings. */
function declaration(
  findings: Findings,
  { state, decidedBy }: Decision,
  found: readonly Evidence[],
): readonly Evidence[] {
  const declared = declaredBy(findings)
  if (declared === undefined) return []
  const wrong = [
    ...(decidedBy === 'declaration' ? [] : contradictions(declared, state, findings.transport)),
    ...(found.some(isRefusedAgainstWord) ? [NOT_POOLABLE] : []),
  ]
  const sentence =
    wrong.length === 0 ? 'What it declares about its sessions agrees with what was found.' : wrong.join(' ')
  return evidence('declared', 'UNKNOWN', sentence, { declared, holds: wrong.length === 0 })
}

const NOT_POOLABLE =
  'It declares capabilities.session.poolable true, but a replica does not accept what was given out here.'

function isRefusedAgainstWord({ check, details }: Evidence): boolean {
  return check === 'replica' && details?.['isAccepted'] === false && details['isDeclared'] === true
}

/** Deciders that are stronger than the wording of tools. */
const KNOWLEDGE: ReadonlySet<string> = new Set(['metadata', 'witness', 'declaration'])

/** Whether a process is known to keep nothing; a guess from its tools does not count. */
export function isKnownStateless({ state, decidedBy }: ProbeFinding): boolean {
  return state === 'STATELESS' && KNOWLEDGE.has(decidedBy)
}

/** The cells behind a gateway that knows no more than the probe. Undefined if the server declared too little. */
function gatewayCells(findings: Findings, two: TwoFindings, { state }: Decision): readonly [Cell, Cell] | undefined {
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

/** Over HTTP, callers share servers without sessions. They share a process only if it is known to keep nothing. */
function mayBeShared(findings: Findings, { process }: TwoFindings): boolean {
  if (findings.transport === 'stdio') return isKnownStateless(process)
  return transportOf(findings) === 'http' && findings.initialize?.http?.session === undefined
}

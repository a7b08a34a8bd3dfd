/**
 * The two findings, and the verdict that combines them. Whether the protocol needs a session is found by behaviour
 * alone. Whether the process keeps something is found, best first, by a witness call, by a known name, by what the server
 * declares, and by what its tools say they do and its files say it keeps.
 */
import { isDeepStrictEqual } from 'node:util'
import { declaredState } from '../methods/declared.ts'
import { together } from '../methods/program/program.ts'
import { levelOf, type Method, type MethodResult, type State } from '../methods/result.ts'
import { isResult, replyText } from '../wire/reply.ts'
import { declaredBy, type Findings, methodsOf, type WitnessReplies } from './findings.ts'
import { type DecidedBy, type Decision, decision, type ProbeFinding } from './result.ts'
import { RULES, BY_BEHAVIOUR } from './rules.ts'

export interface TwoFindings {
  readonly protocol: ProbeFinding
  readonly process: ProbeFinding
}

export function twoFindings(findings: Findings): TwoFindings {
  return { protocol: protocolFinding(findings), process: processFinding(findings) }
}

function protocolFinding(findings: Findings): ProbeFinding {
  for (const name of BY_BEHAVIOUR) {
    const next = RULES[name](findings)
    // A step that was not taken says nothing; later rules may know enough.
    if (next === undefined || 'ask' in next) continue
    const { details: _, ...decided } = next.decided
    const confidence = measuredConfidence(decided.state, decided.confidence)
    return { ...decided, confidence, level: levelOf(confidence), because: [decided.message] }
  }
  return finding('UNKNOWN', 'nothing', 0, ['Whether the protocol needs a session was not found out.'])
}

/** How often witnesses and declarations are right was not measured, so their confidence is not above 90 %. */
const WITNESS_CONFIDENCE = 0.9
const DECLARED_CONFIDENCE = 0.9
const KNOWN_ABOVE = 0.9

/** A session may be needed, or a login, before a server lists anything. */
const NOT_LISTED = 'Its tools were not read by the probe, so nothing tells whether its process keeps something.'

function processFinding(findings: Findings): ProbeFinding {
  const methods = methodsOf(findings)
  const toldBy = told(methods)
  const sources = [witnessed(findings.witness), known(findings.metadata), declared(findings), toldBy]
  const [best, ...others] = sources.filter((source) => source !== undefined && source.state !== 'UNKNOWN')
  if (best === undefined) return toldBy ?? finding('UNKNOWN', 'nothing', 0, [NOT_LISTED])
  const against = others.filter((other) => other !== undefined && other.state !== best.state)
  return { ...best, because: [...best.because, ...against.map((other) => `But: ${other?.message ?? ''}`)] }
}

function witnessed(witness: WitnessReplies | undefined): ProbeFinding | undefined {
  if (witness === undefined) return undefined
  const { tool, first, second, fresh } = witness
  const failed = [first, second, fresh].find((reply) => !isResult(reply))
  if (failed !== undefined) return finding('UNKNOWN', 'witness', 0, [`To ${tool} it ${replyText(failed)}.`])
  const [one, two, other] = [first, second, fresh].map((reply) => (isResult(reply) ? reply.result : {}))
  if (isDeepStrictEqual(one, two)) {
    return isDeepStrictEqual(two, other)
      ? finding('STATELESS', 'witness', WITNESS_CONFIDENCE, [
          `${tool} is answered alike twice in one process, and in a fresh one.`,
        ])
      : finding('UNKNOWN', 'witness', 0, [
          `${tool} is answered alike twice in one process, and otherwise in a fresh one; the answer may hold a time or an id.`,
        ])
  }
  // A time or a random id in the answer would make all three differ.
  return isDeepStrictEqual(one, other)
    ? finding('STATEFUL', 'witness', WITNESS_CONFIDENCE, [
        `${tool} is answered otherwise the second time in one process, and as the first time in a fresh one.`,
      ])
    : finding('UNKNOWN', 'witness', 0, [`${tool} is answered otherwise each time, so it shows nothing.`])
}

/** A known name decides the process finding. For sessions, behaviour is more reliable. */
function known({ state, confidence, message }: MethodResult): ProbeFinding | undefined {
  return confidence > KNOWN_ABOVE ? finding(state, 'metadata', confidence, [message]) : undefined
}

function declared(findings: Findings): ProbeFinding | undefined {
  const about = declaredBy(findings)
  const state = about === undefined ? 'UNKNOWN' : declaredState(about)
  if (state === 'UNKNOWN') return undefined
  return finding(state, 'declaration', DECLARED_CONFIDENCE, [`It declares itself ${state.toLowerCase()}.`])
}

/** The judgements by tools and by files, combined if both exist. */
function told({ tools, program }: Partial<Record<Method, MethodResult>>): ProbeFinding | undefined {
  const both = tools !== undefined && program !== undefined ? together(tools, program) : undefined
  if (both === undefined) return toldAlone(program === undefined || program.state === 'UNKNOWN' ? tools : program)
  const { state, confidence, told: more, other } = both
  const { message, decidedBy, because } = toldAlone(more) ?? finding(state, more.method, confidence, [more.message])
  const also = other.state === state ? sentencesOf(other) : [`But: ${other.message}`]
  return { ...finding(state, decidedBy, confidence, [...because, ...also]), message }
}

function toldAlone(result: MethodResult | undefined): ProbeFinding | undefined {
  if (result === undefined) return undefined
  const { method, state, message, confidence } = result
  return { ...finding(state, method, confidence, sentencesOf(result)), message }
}

function sentencesOf({ details, message }: MethodResult): readonly string[] {
  const because = Array.isArray(details['because']) ? details['because'].map(String) : []
  return because.length === 0 ? [message] : because
}

function finding(state: State, decidedBy: DecidedBy, confidence: number, because: readonly string[]): ProbeFinding {
  return { state, message: because[0] ?? '', confidence, level: levelOf(confidence), decidedBy, because }
}

/** `decided` is the decision of the rules if the protocol finding decides nothing. */
export function combined({ protocol, process }: TwoFindings, decided: Decision): Decision {
  if (protocol.state === 'STATEFUL') return { ...decided, ...atMost(decided, protocol.confidence) }
  if (protocol.state === 'UNKNOWN') return decided
  switch (process.state) {
    case 'STATEFUL': {
      const message = `It needs no session, but its process seems to keep something: ${process.message}`
      return decision('STATEFUL', process.decidedBy, process.confidence, message, decided.details)
    }
    case 'STATELESS':
      return { ...decided, ...atMost(decided, process.confidence) }
    case 'UNKNOWN':
      return { ...decided, ...atMost(decided, UNSEEN_CONFIDENCE) }
  }
}

/** Without any finding about the process, no confidence is high. */
const UNSEEN_CONFIDENCE = 0.9

function atMost({ confidence }: Decision, most: number): Pick<Decision, 'confidence' | 'level'> {
  const least = Math.min(confidence, most)
  return { confidence: least, level: levelOf(least) }
}

interface Frequency {
  readonly right: number
  readonly servers: number
}

/**
 * How often behaviour was right about sessions, for the servers of the corpus. The counts are those of the table "By kind of
 * decision" in docs/reference/probe-accuracy.md; a test compares.
 */
export const SESSION_FREQUENCIES: Readonly<Record<Exclude<State, 'UNKNOWN'>, Frequency>> = {
  STATELESS: { right: 45, servers: 45 },
  STATEFUL: { right: 18, servers: 18 },
}

/** A rule's own confidence, and at most the measured one. By Laplace's rule it is never 100 %. */
function measuredConfidence(state: State, confidence: number): number {
  if (state === 'UNKNOWN') return confidence
  const { right, servers } = SESSION_FREQUENCIES[state]
  return Math.min(confidence, Math.round((100 * (right + 1)) / (servers + 2)) / 100)
}

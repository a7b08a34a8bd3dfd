/**
 * The rules and their order. Each rule names the next step, decides, or passes on to the next rule. In the usual order
 * behaviour comes first, and a known name or the score counts only if behaviour decides nothing. In the documented
 * order known servers come first, then the sequential test; the score is the last resort.
 */
import { CODES } from '../../protocol/index.ts'
import { type Decision, decision, whyUnknown } from './result.ts'
import { declaredState } from '../methods/declared.ts'
import { declaredBy, type Findings, listMethodOf, methodsOf, sessionOf, type Step, toolsOf } from './findings.ts'
import { errorTextOf, type ProbeReply, replyText, isTemporary, isResult, isUnauthorized } from '../wire/reply.ts'
import { sseEndpointIn } from '../wire/sse.ts'
import { asksForSession } from '../methods/sequential.ts'
import type { MethodResult, Method } from '../methods/result.ts'

type NextStep = { readonly ask: Step } | { readonly decided: Decision }

/** Undefined passes on to the next rule. */
type Rule = (findings: Findings) => NextStep | undefined

/** `server/discover` is sent to every server, so that the verdict names its revisions even if a known name decides. */
const reachability: Rule = (findings) => {
  if (findings.era === undefined) return { ask: 'era' }
  if (!findings.era.isUnreachable) return undefined
  return { decided: decision('UNKNOWN', 'nothing', 0, whyUnknown(findings)) }
}

/** The stateless revision has no sessions. A server that supports it is STATEFUL only if it still asks for a session. */
const era: Rule = (findings) => {
  const { era: found, modernList } = findings
  if (found === undefined || found.isUnreachable) return reachability(findings)
  if (found.era !== 'modern') return undefined
  const list = found.discovered && listMethodOf(found.discovered)
  if (list !== undefined && modernList === undefined) return { ask: 'modernList' }
  if (modernList !== undefined && asksForSession(modernList)) {
    const message = `It says that it speaks a revision without sessions, but it ${replyText(modernList)}.`
    return { decided: decision('STATEFUL', 'era', 0.9, message) }
  }
  const confidence = modernList === undefined || isResult(modernList) ? 0.99 : 0.9
  return { decided: decision('STATELESS', 'era', confidence, 'It speaks a revision of MCP that has no sessions.') }
}

/** Only a known server gets a confidence above 0.9. */
const metadata: Rule = ({ metadata: guess }) => (guess.confidence > 0.9 ? decidedByMethod(guess) : undefined)

/** Some servers answer `tools/list` without a session and refuse everything else. So `ping` is sent as well. */
const publicList: Rule = (findings) => {
  const { bareList, barePing } = findings
  if (sessionOf(findings) === undefined || !isResult(bareList)) return undefined
  if (barePing === undefined) return { ask: 'barePing' }
  if (!asksForSession(barePing)) return undefined
  const message = `It lists its tools for everybody, but wants a session: to ping without one it ${replyText(barePing)}.`
  return { decided: decision('STATEFUL', 'control', 0.95, message) }
}

const sequential: Rule = (findings) => {
  const { initialize, bareList } = findings
  if (initialize === undefined) return { ask: 'initialize' }
  if (isResult(initialize) && bareList === undefined) return { ask: 'bareList' }
  return decidedByMethod(methodsOf(findings).sequential)
}

/** A server that refuses POST may use HTTP+SSE, the transport of 2024-11-05, in which the stream is the session. */
const transport: Rule = ({ transport: kind, initialize, sseStream }) => {
  if (kind !== 'http' || initialize === undefined || !isNotServed(initialize)) return undefined
  if (sseStream === undefined) return { ask: 'sseStream' }
  if (sseEndpointIn(sseStream) === undefined) return undefined
  const message =
    'It speaks the HTTP+SSE transport of 2024-11-05, in which every answer comes on the stream of a session.'
  return { decided: decision('STATEFUL', 'transport', 0.99, message) }
}

/** The control experiment: an error is about sessions if it disappears after `initialize`. */
const control: Rule = (findings) => {
  const { initialize, bareList, control: controlled } = findings
  if (!isResult(initialize) || bareList === undefined || isResult(bareList)) return undefined
  if (isTemporary(bareList) || bareList.kind === 'not-sent') return undefined
  if (controlled === undefined) return { ask: 'control' }
  const bare = `without initialize it ${replyText(bareList)}`
  if (!isResult(controlled)) {
    if (!isSameUnknownMethod(bareList, controlled)) return undefined
    const message = `It treats tools/list alike with and without initialize: it ${replyText(bareList)}.`
    return { decided: decision('STATELESS', 'control', 0.7, message) }
  }
  if (findings.transport === 'http' && sessionOf(findings) === undefined) {
    const message = `It gives out no session, and answers tools/list when the revision is named; ${bare}.`
    return { decided: decision('STATELESS', 'control', 0.9, message) }
  }
  const message = `It answers tools/list after initialize only: ${bare}.`
  return { decided: decision('STATEFUL', 'control', 0.9, message) }
}

/** A server that was made for one session in its life refuses every other one. */
const oneSession: Rule = ({ initialize }) => {
  if (initialize === undefined || isResult(initialize) || !isUsedUp(initialize)) return undefined
  const message = `It allows one session in its life, and somebody has begun that: to initialize it ${replyText(initialize)}.`
  return { decided: decision('STATEFUL', 'control', 0.9, message) }
}

/** Whether `initialize` is refused because there was one before. */
export function isUsedUp(reply: ProbeReply): boolean {
  return /already (been )?(initiali[sz]ed|connected)/i.test(errorTextOf(reply))
}

const declaration: Rule = (findings) => {
  const declared = declaredBy(findings)
  const state = declared === undefined ? 'UNKNOWN' : declaredState(declared)
  if (state === 'UNKNOWN') return undefined
  return {
    decided: decision(state, 'declaration', 0.7, `It declares itself ${state.toLowerCase()}; nothing else decides.`),
  }
}

const capabilities: Rule = (findings) => {
  if (findings.initialize === undefined) return { ask: 'initialize' }
  return decidedByMethod(methodsOf(findings).capabilities)
}

/** The judgement by the tools, from any list of them that can be read. */
const tools: Rule = (findings) => {
  if (findings.initialize === undefined) return { ask: 'initialize' }
  if (toolsOf(findings) === undefined && isResult(findings.initialize) && findings.control === undefined)
    return { ask: 'control' }
  return decidedByMethod(methodsOf(findings).tools)
}

/** The judgement by the files, which are read before any step. */
const program: Rule = (findings) => decidedByMethod(methodsOf(findings).program)

/** The score is never used alone: before the sequential test it counts only if the metadata agree. */
const agreement: Rule = (findings) => {
  const next = capabilities(findings)
  if (next === undefined || 'ask' in next) return next
  return next.decided.state === findings.metadata.state ? next : undefined
}

export const RULES = {
  reachability,
  era,
  metadata,
  publicList,
  sequential,
  oneSession,
  transport,
  control,
  declaration,
  capabilities,
  tools,
  program,
  agreement,
}

/** The decision of a method, if it has one. */
function decidedByMethod(result: MethodResult | undefined): NextStep | undefined {
  if (result === undefined || result.state === 'UNKNOWN') return undefined
  const { method, state, message, confidence, details } = result
  return { decided: decision(state, method, confidence, message, details) }
}

/** Refused because of the HTTP method or path, and not for credentials or overload. */
function isNotServed(reply: ProbeReply): boolean {
  const status = reply.http?.status ?? 0
  return !isResult(reply) && !isUnauthorized(reply) && !isTemporary(reply) && status >= 400 && status < 500
}

function isSameUnknownMethod(bare: ProbeReply, controlled: ProbeReply): boolean {
  const { METHOD_NOT_FOUND } = CODES
  return (
    bare.kind === 'error' &&
    controlled.kind === 'error' &&
    bare.code === METHOD_NOT_FOUND &&
    controlled.code === METHOD_NOT_FOUND
  )
}

/** The order in which the methods are tried. */
export type Order = 'usual' | 'documented' | 'cheap-first'

export const ORDER_NAMES: readonly Order[] = ['usual', 'documented', 'cheap-first']

/** The next step or the decision, from the findings so far. With `methods` no other rule is used, and one alone takes only its own steps. */
export function nextStep(findings: Findings, order: Order, methods?: readonly Method[]): NextStep {
  for (const rule of rulesFor(order, methods)) {
    const next = rule(findings)
    if (next !== undefined) return next
  }
  return { decided: decision('UNKNOWN', 'nothing', 0, whyUnknown(findings, methods)) }
}

/** The judgement by behaviour. */
export const BY_BEHAVIOUR = [
  'reachability',
  'era',
  'publicList',
  'sequential',
  'oneSession',
  'transport',
  'control',
] as const
const BY_REQUESTS = ['publicList', 'sequential', 'transport', 'control', 'declaration', 'capabilities'] as const

const ORDERS: Readonly<Record<Order, readonly (keyof typeof RULES)[]>> = {
  usual: [...BY_BEHAVIOUR, 'declaration', 'metadata', 'capabilities'],
  documented: ['metadata', 'sequential', 'capabilities'],
  'cheap-first': ['metadata', 'era', 'agreement', ...BY_REQUESTS],
}

const SINGLE_METHOD: Readonly<Record<Method, Rule>> = {
  sequential: RULES.sequential,
  capabilities: ({ initialize }) => (initialize === undefined ? { ask: 'initialize' } : undefined),
  metadata: ({ metadata: guess }) => decidedByMethod(guess),
  tools: RULES.tools,
  program: RULES.program,
}

function rulesFor(order: Order, methods: readonly Method[] | undefined): readonly Rule[] {
  const [only] = methods ?? []
  if (methods === undefined || only === undefined) return ORDERS[order].map((name) => RULES[name])
  if (methods.length === 1) return [SINGLE_METHOD[only]]
  const names = [...ORDERS[order === 'usual' ? 'documented' : order], 'tools', 'program'] as const
  return names.filter((name) => methods.some((method) => method === name)).map((name) => RULES[name])
}

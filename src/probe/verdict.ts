/**
 * The combination: what to ask next, or what is decided, from what is known so far. Pure, so that it can be tested as a
 * table. In the usual order a known server is not asked; then the sequential test decides; the score is the last resort.
 */
import { declaredState } from './declared.ts'
import { declaredBy, type Findings, listMethodOf, methodsOf, sessionOf, type Step } from './findings.ts'
import { type Heard, heardText, isPassing, isResult, isWall } from './heard.ts'
import { oldEndpoint } from './oldTransport.ts'
import { missesSession } from './sequential.ts'
import { type Level, levelOf, type Method, type MethodResult, type State } from './state.ts'

/** What decided: one of the three methods, or what the probe knows beyond them. */
export type DecidedBy = Method | 'era' | 'transport' | 'control' | 'declaration' | 'nothing'

export interface Decision {
  readonly state: State
  /** Why, as a sentence. */
  readonly message: string
  /** From 0 to 1. */
  readonly confidence: number
  readonly level: Level
  readonly decidedBy: DecidedBy
  readonly details: Readonly<Record<string, unknown>>
}

export type Next = { readonly ask: Step } | { readonly decided: Decision }

export type Order = 'usual' | 'cheap-first'

/** Says what comes next; undefined leaves it to the next rule. */
type Rule = (findings: Findings) => Next | undefined

/** `methods` leaves everything else out; one of them alone is asked exactly as it is described. */
export function nextOf(findings: Findings, order: Order, methods?: readonly Method[]): Next {
  for (const rule of rulesOf(order, methods)) {
    const next = rule(findings)
    if (next !== undefined) return next
  }
  return { decided: decision('UNKNOWN', 'nothing', 0, whyUnknown(findings, methods)) }
}

/** The stateless revision has no sessions; only a server that asks for one all the same is believed to have them. */
const era: Rule = (findings) => {
  const { era: found, modernList } = findings
  if (found === undefined) return { ask: 'era' }
  if (found.isUnreachable) return { decided: decision('UNKNOWN', 'nothing', 0, whyUnknown(findings)) }
  if (found.era !== 'modern') return undefined
  const list = found.discovered && listMethodOf(found.discovered)
  if (list !== undefined && modernList === undefined) return { ask: 'modernList' }
  if (modernList !== undefined && missesSession(modernList)) {
    const message = `It says that it speaks a revision without sessions, and yet it ${heardText(modernList)}.`
    return { decided: decision('STATEFUL', 'era', 0.9, message) }
  }
  const confidence = modernList === undefined || isResult(modernList) ? 0.99 : 0.9
  return { decided: decision('STATELESS', 'era', confidence, 'It speaks a revision of MCP that has no sessions.') }
}

const metadata: Rule = (findings) => (findings.metadata.confidence > 0.9 ? by(findings.metadata) : undefined)

const sequential: Rule = (findings) => {
  const { initialize, bareList } = findings
  if (initialize === undefined) return { ask: 'initialize' }
  if (isResult(initialize) && bareList === undefined) return { ask: 'bareList' }
  return clear(methodsOf(findings).sequential)
}

/** Where a POST is not served, the transport of the first revision may be: its stream is the session. */
const transport: Rule = ({ transport: kind, initialize, oldStream }) => {
  if (kind !== 'http' || initialize === undefined || !isTurnedAway(initialize)) return undefined
  if (oldStream === undefined) return { ask: 'oldStream' }
  if (oldEndpoint(oldStream) === undefined) return undefined
  const message =
    'It speaks the HTTP+SSE transport of 2024-11-05, in which every answer comes on the stream of a session.'
  return { decided: decision('STATEFUL', 'transport', 0.99, message) }
}

/** An error that says nothing about sessions says something when it is gone after `initialize`, or is not. */
const control: Rule = (findings) => {
  const { initialize, bareList, control: controlled } = findings
  if (!isResult(initialize) || bareList === undefined || isResult(bareList)) return undefined
  if (isPassing(bareList) || bareList.kind === 'unasked') return undefined
  if (controlled === undefined) return { ask: 'control' }
  const bare = `without initialize it ${heardText(bareList)}`
  if (!isResult(controlled)) {
    if (!isSameUnknownMethod(bareList, controlled)) return undefined
    const message = `It treats tools/list alike with and without initialize: it ${heardText(bareList)}.`
    return { decided: decision('STATELESS', 'control', 0.7, message) }
  }
  if (findings.transport === 'http' && sessionOf(findings) === undefined) {
    const message = `It gives out no session, and answers tools/list when the revision is named; ${bare}.`
    return { decided: decision('STATELESS', 'control', 0.9, message) }
  }
  const message = `It answers tools/list after initialize only: ${bare}.`
  return { decided: decision('STATEFUL', 'control', 0.9, message) }
}

const declaration: Rule = (findings) => {
  const declared = declaredBy(findings)
  const state = declared === undefined ? 'UNKNOWN' : declaredState(declared)
  if (state === 'UNKNOWN') return undefined
  return {
    decided: decision(state, 'declaration', 0.7, `It declares itself ${state.toLowerCase()}; nothing else tells.`),
  }
}

const capabilities: Rule = (findings) => {
  if (findings.initialize === undefined) return { ask: 'initialize' }
  return clear(methodsOf(findings).capabilities)
}

/** The score is never used alone: before the sequential test it counts where the metadata say the same. */
const agreement: Rule = (findings) => {
  const next = capabilities(findings)
  if (next === undefined || 'ask' in next) return next
  return next.decided.state === findings.metadata.state ? next : undefined
}

const RULES = { era, metadata, sequential, transport, control, declaration, capabilities, agreement }

const ORDERS: Readonly<Record<Order, readonly (keyof typeof RULES)[]>> = {
  usual: ['era', 'metadata', 'sequential', 'transport', 'control', 'declaration', 'capabilities'],
  'cheap-first': [
    ...(['metadata', 'era', 'agreement'] as const),
    ...(['sequential', 'transport', 'control', 'declaration', 'capabilities'] as const),
  ],
}

const ALONE: Readonly<Record<Method, Rule>> = {
  sequential,
  capabilities: ({ initialize }) => (initialize === undefined ? { ask: 'initialize' } : undefined),
  metadata: ({ metadata: guess }) => clear(guess),
}

function rulesOf(order: Order, methods: readonly Method[] | undefined): readonly Rule[] {
  const [only] = methods ?? []
  if (methods === undefined || only === undefined) return ORDERS[order].map((name) => RULES[name])
  if (methods.length === 1) return [ALONE[only]]
  return ORDERS[order].filter((name) => methods.some((method) => method === name)).map((name) => RULES[name])
}

function by({ method, state, message, confidence, details }: MethodResult): Next {
  return { decided: decision(state, method, confidence, message, details) }
}

function clear(result: MethodResult | undefined): Next | undefined {
  return result === undefined || result.state === 'UNKNOWN' ? undefined : by(result)
}

function decision(
  state: State,
  decidedBy: DecidedBy,
  confidence: number,
  message: string,
  details: Decision['details'] = {},
): Decision {
  return { state, message, confidence, level: levelOf(confidence), decidedBy, details }
}

/** Refused for its method or its path, and not for who asks or because of trouble. */
function isTurnedAway(heard: Heard): boolean {
  const status = heard.http?.status ?? 0
  return !isResult(heard) && !isWall(heard) && !isPassing(heard) && status >= 400 && status < 500
}

function isSameUnknownMethod(bare: Heard, controlled: Heard): boolean {
  return bare.kind === 'error' && controlled.kind === 'error' && bare.code === -32601 && controlled.code === -32601
}

function whyUnknown(findings: Findings, methods?: readonly Method[]): string {
  const { era: found, initialize } = findings
  if (initialize === undefined) {
    return found === undefined ? findings.metadata.message : `Nothing can be known: it ${heardText(found.heard)}.`
  }
  if (isWall(initialize)) {
    const { status } = initialize.http ?? {}
    return `It lets nobody in without the right credentials (HTTP ${status}), so nothing can be known about its sessions.`
  }
  const { sequential: tested, capabilities: score } = methodsOf(findings)
  if (methods?.length === 1 && score !== undefined) return `${score.message} The score is never used alone.`
  return tested?.message ?? 'Nothing was found out.'
}

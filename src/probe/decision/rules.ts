/** The rules of the combination: each says what to ask next or what is decided, or leaves it to the next. */
import { type Decision, decision, whyUnknown } from './result.ts'
import { declaredState } from '../methods/declared.ts'
import { declaredBy, type Findings, listMethodOf, methodsOf, sessionOf, type Step } from './findings.ts'
import { type Heard, heardText, isPassing, isResult, isWall } from '../wire/reply.ts'
import { oldEndpoint } from '../wire/sse.ts'
import { missesSession } from '../methods/sequential.ts'
import type { MethodResult } from '../methods/result.ts'

export type Next = { readonly ask: Step } | { readonly decided: Decision }

/** Undefined leaves it to the next rule. */
export type Rule = (findings: Findings) => Next | undefined

/** The first question goes to everybody: what a server speaks is told even where nothing else has to be asked. */
const reach: Rule = (findings) => {
  if (findings.era === undefined) return { ask: 'era' }
  if (!findings.era.isUnreachable) return undefined
  return { decided: decision('UNKNOWN', 'nothing', 0, whyUnknown(findings)) }
}

/** The stateless revision has no sessions; only a server that asks for one all the same is believed to have them. */
const era: Rule = (findings) => {
  const { era: found, modernList } = findings
  if (found === undefined || found.isUnreachable) return reach(findings)
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

/** A known server decides also where it speaks the stateless revision: what it keeps, it keeps without a session. */
const metadata: Rule = ({ metadata: guess, era: found }) => {
  if (guess.confidence <= 0.9) return undefined
  const isKeeping = found?.era === 'modern' && guess.state === 'STATEFUL'
  const yet = 'It speaks a revision of MCP that has no sessions, and yet it keeps something between calls.'
  return clear(isKeeping ? { ...guess, message: `${yet} ${guess.message}` } : guess)
}

/** Some servers with sessions list their tools for everybody, and nothing else: so what else is there is asked for, too. */
const exception: Rule = (findings) => {
  const { bareList, barePing } = findings
  if (sessionOf(findings) === undefined || !isResult(bareList)) return undefined
  if (barePing === undefined) return { ask: 'barePing' }
  if (!missesSession(barePing)) return undefined
  const message = `It lists its tools for everybody, but wants a session: to ping without one it ${heardText(barePing)}.`
  return { decided: decision('STATEFUL', 'control', 0.95, message) }
}

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

export const RULES = {
  reach,
  era,
  metadata,
  exception,
  sequential,
  transport,
  control,
  declaration,
  capabilities,
  agreement,
}

function by({ method, state, message, confidence, details }: MethodResult): Next {
  return { decided: decision(state, method, confidence, message, details) }
}

/** What a method says, where it says something. */
export function clear(result: MethodResult | undefined): Next | undefined {
  return result === undefined || result.state === 'UNKNOWN' ? undefined : by(result)
}

/** Refused for its method or its path, and not for who asks or because of trouble. */
function isTurnedAway(heard: Heard): boolean {
  const status = heard.http?.status ?? 0
  return !isResult(heard) && !isWall(heard) && !isPassing(heard) && status >= 400 && status < 500
}

function isSameUnknownMethod(bare: Heard, controlled: Heard): boolean {
  return bare.kind === 'error' && controlled.kind === 'error' && bare.code === -32601 && controlled.code === -32601
}

/** Tokens of one instance, sent to another: a session, a request state, the answer to a question. */
import { readDeclared } from '../methods/declared.ts'
import { declaredBy, sessionHeaders } from '../decision/findings.ts'
import { replyText, isResult, type ProbeReply } from '../wire/reply.ts'
import {
  cancelled,
  INITIALIZED,
  initializeWith,
  LIST_TOOLS,
  modernRequest,
  request,
  type AnswerMessage,
} from '../wire/messages.ts'
import type { ProbedInstance } from '../wire/httpRequest.ts'
import type { HarmlessCall } from '../decision/steps.ts'
import type { ProbeCheckContext } from './check.ts'
import { isObject, type Json, parseJson } from '../../protocol/index.ts'

/** A token that was sent to another instance, and the outcome. */
export interface Tried {
  /** `request` has nothing of the first instance in it. */
  readonly taken: 'session' | 'request-state' | 'answer' | 'request'
  /** The reaction of the other instance, as the end of a sentence that begins with "it"; absent if it accepted. */
  readonly why?: string
  /**
   * Whether the server declares for this era that its instances are interchangeable; undefined without a declaration.
   */
  readonly isDeclared?: boolean
}

export interface SharedSession {
  readonly headers: Readonly<Record<string, string>>
  readonly isDeclared: boolean | undefined
}

const CALL_ID = 40

/** A session at the first instance: a new one, or the one that is there. */
export async function beginSession(
  { wire, findings }: ProbeCheckContext,
  isNew: boolean,
): Promise<SharedSession | undefined> {
  if (wire.transport !== 'http') return undefined
  const begun = isNew ? await wire.post(initializeWith(ASKABLE)) : findings.initialize
  if (!isResult(begun) || begun.http?.session === undefined) return undefined
  const { era: _, ...rest } = findings
  const headers = sessionHeaders({ ...rest, initialize: begun }) // with the version of this session
  if (isNew) await wire.post(INITIALIZED, headers)
  return { headers, isDeclared: readDeclared(begun.result)?.session?.poolable }
}

export async function takeSession(
  instance: ProbedInstance,
  { headers, isDeclared }: SharedSession,
  { wire }: ProbeCheckContext,
): Promise<Tried | undefined> {
  if (wire.transport !== 'http') return undefined
  return tried('session', await wire.post(LIST_TOOLS, headers, { instance }), isDeclared)
}

/** Begins a call of the stateless revision, and continues it at the other instance. */
export async function takeState(
  instance: ProbedInstance,
  { name, arguments: args = {} }: HarmlessCall,
  { wire, findings }: ProbeCheckContext,
): Promise<Tried | undefined> {
  if (wire.transport !== 'http') return undefined
  const params = { name, arguments: args }
  const asked = await wire.post(modernRequest(CALL_ID, 'tools/call', params, ASKABLE))
  const round = isResult(asked) ? roundIn(asked.result) : undefined
  if (round === undefined) return undefined
  const next = modernRequest(CALL_ID + 1, 'tools/call', { ...params, ...round }, ASKABLE)
  return tried('request-state', await wire.post(next, {}, { instance }), declaredBy(findings)?.session?.poolable)
}

/** Begins a call in a session, and answers its first question at the other instance. */
export async function takeAnswer(
  instance: ProbedInstance,
  { name, arguments: args = {} }: HarmlessCall,
  { headers, isDeclared }: SharedSession,
  { wire }: ProbeCheckContext,
): Promise<Tried | undefined> {
  if (wire.transport !== 'http') return undefined
  let answering: Promise<ProbeReply> | undefined
  let isAskedAgain = false
  const cancel = (): Promise<unknown> => wire.post(cancelled(CALL_ID), headers).catch(() => undefined)
  const onMessage = (text: string): void => {
    const answer = answerIn(text)
    if (answer === undefined) return
    isAskedAgain = answering !== undefined
    if (isAskedAgain) return void cancel()
    answering = wire.post(answer, headers, { instance })
    // A call whose answer is refused would wait for it.
    answering.then((reply) => isTaken(reply) || cancel()).catch(() => undefined)
  }
  const ended = await wire.post(request(CALL_ID, 'tools/call', { name, arguments: args }), headers, { onMessage })
  if (answering === undefined) return undefined
  const reply = await answering
  const wentOn = isAskedAgain || ended.kind === 'result' || ended.kind === 'error'
  const why = isTaken(reply) ? 'took it, and nothing came of it' : replyText(reply)
  return {
    taken: 'answer',
    ...(!(isTaken(reply) && wentOn) && { why }),
    ...(isDeclared !== undefined && { isDeclared }),
  }
}

export async function takeNothing(instance: ProbedInstance, { wire, findings }: ProbeCheckContext): Promise<Tried> {
  const isModern = findings.era?.era === 'modern'
  const list = isModern ? modernRequest(5, 'tools/list') : LIST_TOOLS
  const headers = isModern ? {} : sessionHeaders(findings)
  const reply: ProbeReply =
    wire.transport === 'http' ? await wire.post(list, headers, { instance }) : { kind: 'not-sent' }
  return tried('request', reply)
}

function tried(taken: Tried['taken'], reply: ProbeReply, isDeclared?: boolean): Tried {
  return { taken, ...(!isResult(reply) && { why: replyText(reply) }), ...(isDeclared !== undefined && { isDeclared }) }
}

/** An answer gets no message back. */
function isTaken({ http }: ProbeReply): boolean {
  return http !== undefined && http.status < 300
}

/** The capabilities that the probe declares. */
export const ASKABLE = { elicitation: { form: {}, url: {} }, roots: {} }

/** The parameters of the next round of a call. */
export interface StateRound {
  readonly requestState: string
  readonly inputResponses: Json
}

/** The state of a tool that asks for input, with answers; undefined if no question comes with a state. */
export function roundIn(result: Json): StateRound | undefined {
  const { resultType, requestState: state, inputRequests } = result
  if (resultType !== 'input_required' || typeof state !== 'string' || state === '') return undefined
  const asked = Object.entries(isObject(inputRequests) ? inputRequests : {})
  return { requestState: state, inputResponses: Object.fromEntries(asked.map(([key, one]) => [key, answerTo(one)])) }
}

/** The answer to a question that a session-era server pushed; undefined if the message is not a question. */
function answerIn(text: string): AnswerMessage | undefined {
  const message = parseJson(text)
  if (!isObject(message)) return undefined
  const { id, method } = message
  const isQuestion = method === 'elicitation/create' || method === 'roots/list'
  if (!isQuestion || (typeof id !== 'string' && typeof id !== 'number')) return undefined
  return { jsonrpc: '2.0', id, result: answerTo(message) }
}

function answerTo(asked: unknown): Json {
  return isObject(asked) && asked['method'] === 'roots/list' ? { roots: [] } : { action: 'decline' }
}

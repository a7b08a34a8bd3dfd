/** A tool that asks for input, and answers to it that decline everything. */
import { isObject, type Json, parseJson } from '../../protocol/index.ts'
import type { AnswerMessage } from '../wire/messages.ts'

/** What the probe says that it can be asked. */
export const ASKABLE = { elicitation: { form: {}, url: {} }, roots: {} }

/** What the next round of a call brings. */
export interface StateRound {
  readonly requestState: string
  readonly inputResponses: Json
}

/** The state of a tool that asks for input, with answers; undefined where it asks for nothing with a state. */
export function roundIn(result: Json): StateRound | undefined {
  const { resultType, requestState: state, inputRequests } = result
  if (resultType !== 'input_required' || typeof state !== 'string' || state === '') return undefined
  const asked = Object.entries(isObject(inputRequests) ? inputRequests : {})
  return { requestState: state, inputResponses: Object.fromEntries(asked.map(([key, one]) => [key, answerTo(one)])) }
}

/** The answer to a question that a server of the session era pushed; undefined where the message is none. */
export function answerIn(text: string): AnswerMessage | undefined {
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

/** Resuming a suspended call: in any process, on a new connection, as often as it is suspended again. */
import { assertOptionNames, isObject, type Json, type OptionNames } from '../../protocol/index.ts'
import type { Answerer, Asked } from '../questions/answerer.ts'
import { answerAll } from '../questions/answerAll.ts'
import { ClientError } from '../errors.ts'
import { placeName } from '../config/savedPlace.ts'
import { quotedKeys } from '../questions/kinds.ts'
import { type Given, responseTo } from '../questions/response.ts'
import { type AskingMethod, calledName, lastingParams, readSaved, type SavedCall } from './savedCall.ts'
import { type OpenRound, suspendCall } from './suspend.ts'

/** A connected client of either SDK, with `rounds()` around its transport. */
export interface CallingClient {
  callTool(params: never): Promise<unknown>
  getPrompt(params: never): Promise<unknown>
  readResource(params: never): Promise<unknown>
  close?(): Promise<void>
}

/** Sends one request, with the options of its client. */
export interface Sender {
  send(method: AskingMethod, params: Json): Promise<unknown>
  close?(): Promise<void>
}

/** The sender: a connected client, or a function that connects one. Its connection is closed afterwards. */
export type Through = CallingClient | Sender | ((saved: SavedCall) => Promise<CallingClient | Sender>)

export interface ResumeOptions {
  /** Cancels the answering. A request that was sent is cancelled through the client. */
  signal?: AbortSignal
}

const RESUME_OPTIONS: OptionNames<ResumeOptions> = { signal: true }

/**
 * Resumes a saved call with the answers to its open questions: by their keys, or from an answerer. Gives the result of
 * the call. Where the call was suspended again, `suspendedOf` finds the next saved call in that result.
 */
export async function resume(
  saved: unknown,
  answers: Readonly<Record<string, Given>> | Answerer,
  through: Through,
  options: ResumeOptions = {},
): Promise<Json> {
  assertOptionNames(options, RESUME_OPTIONS, 'resume()')
  const { signal = new AbortController().signal } = options
  const call = readSaved(saved)
  const known = isObject(answers) ? answers : {}
  const round = typeof answers === 'function' ? await askAll(call, answers, signal) : answeredRound(call, known)
  if (Object.keys(round.open).length > 0) return suspendCall(round)
  signal.throwIfAborted()
  return send(round, through, call)
}

/** Asks an answerer all open questions at once. Those that it suspends again stay open. */
async function askAll(call: SavedCall, answerer: Answerer, signal: AbortSignal): Promise<OpenRound> {
  const about = { call: { method: call.method, name: calledName(call) }, server: serverOf(call) }
  const { answers, open } = await answerAll(Object.entries(call.inputRequests), signal, async (question) =>
    responseTo(question.key, question.request, await answerer({ ...question, ...about })),
  )
  return { ...roundOf(call), open, inputResponses: { ...call.inputResponses, ...answers } }
}

/** Matches given answers with the open questions: each question needs one, and there may be no others. */
function answeredRound(call: SavedCall, answers: Readonly<Record<string, Given>>): OpenRound {
  const asked = Object.keys(call.inputRequests)
  const missing = asked.filter((key) => !Object.hasOwn(answers, key))
  const notAsked = Object.keys(answers).filter((key) => !asked.includes(key))
  if (missing.length > 0) throw unanswered(`The saved call waits for ${quotedKeys(missing)}; give an answer for each.`)
  if (notAsked.length > 0)
    throw unanswered(`The saved call does not ask ${quotedKeys(notAsked)}; it asks ${quotedKeys(asked)}.`)
  const given = Object.entries(call.inputRequests).map(
    ([key, request]) => [key, responseTo(key, request, answers[key] as Given)] as const,
  )
  return { ...roundOf(call), open: {}, inputResponses: { ...call.inputResponses, ...Object.fromEntries(given) } }
}

async function send(round: OpenRound, through: Through, call: SavedCall): Promise<Json> {
  const { method, params, inputResponses, requestState } = round
  const retry = { ...lastingParams(params), inputResponses, ...(requestState !== undefined && { requestState }) }
  const client = typeof through === 'function' ? await through(call) : through
  try {
    const result = 'send' in client ? await client.send(method, retry) : await callWith(client, method, retry)
    return isObject(result) ? result : {}
  } finally {
    if (typeof through === 'function') await client.close?.()
  }
}

function callWith(client: CallingClient, method: AskingMethod, params: Json): Promise<unknown> {
  switch (method) {
    case 'tools/call':
      return client.callTool(params as never)
    case 'prompts/get':
      return client.getPrompt(params as never)
    case 'resources/read':
      return client.readResource(params as never)
    default:
      return method satisfies never
  }
}

function roundOf({ method, params, requestState, target, cwd, server }: SavedCall) {
  const place = { target, ...(cwd !== undefined && { cwd }) }
  return { method, params, requestState, server: serverOf({ server, target }), place }
}

function serverOf({ server, target }: Pick<SavedCall, 'server' | 'target'>): Asked['server'] {
  return { name: server ?? undefined, target: placeName({ target }) }
}

function unanswered(sentence: string): ClientError {
  return new ClientError('QUESTION_UNANSWERED', sentence)
}

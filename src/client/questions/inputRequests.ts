/** One `input_required` result, read; and the request that follows it (MRTR-23 to 27). Decides, and does nothing. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { readQuestion } from './kinds.ts'
import { metaIn } from '../layer/message.ts'

export interface InputRequired {
  readonly questions: readonly (readonly [key: string, request: InputRequest])[]
  /** Exactly as it came; undefined where none came. */
  readonly requestState: string | undefined
}

/** A larger state does not fit into the requests that servers take: 4 MB with the official SDK, and here. */
export const MAX_STATE_BYTES = 4 * 1024 * 1024

/** More than this at once is nothing that people, or a model that costs money, should be asked. */
export const MAX_QUESTIONS = 100

/**
 * Reads the result; throws, naming the part that is wrong. Nothing of the state is looked at but that it is a string, and
 * not too large a one.
 */
export function readInputRequired(result: Json, maxStateBytes: number = MAX_STATE_BYTES): InputRequired {
  const { inputRequests, requestState } = result
  if (inputRequests === undefined && requestState === undefined) {
    throw invalid('it has neither questions nor a state')
  }
  if (requestState !== undefined && typeof requestState !== 'string') throw invalid('its state is not a string')
  if (inputRequests !== undefined && !isObject(inputRequests)) throw invalid('its questions are not in a map')
  const questions = Object.entries(inputRequests ?? {})
  if (questions.length > MAX_QUESTIONS) throw tooMany(questions.length)
  if (requestState !== undefined) assertFits(requestState, maxStateBytes)
  return { questions: questions.map(readEntry), requestState }
}

function assertFits(state: string, maxBytes: number): void {
  // A character has at most three bytes, so most states need not be counted.
  const bytes = state.length * 3 <= maxBytes ? 0 : Buffer.byteLength(state)
  if (bytes <= maxBytes) return
  throw tooLarge(`a state of ${bytes} bytes, and "maxStateBytes" is ${maxBytes}; raise it if that is what you expect`)
}

function readEntry([key, value]: [string, unknown]): readonly [string, InputRequest] {
  const request = readQuestion(value)
  if (request === undefined) throw invalid('one of its questions is of a kind that does not exist, or incomplete')
  return [key, request]
}

export interface Leg {
  /** The parameters the call began with. */
  readonly first: Json
  readonly answers: Readonly<Record<string, Json>> | undefined
  readonly requestState: string | undefined
  readonly progressToken: string
}

/** The first parameters again, with the answers and the state of this round only, and a progress token of its own. */
export function paramsOfLeg({ first, answers, requestState, progressToken }: Leg): Json {
  const { inputResponses: _responses, requestState: _state, ...lasting } = first
  return {
    ...lasting,
    ...(hasProgressToken(first) && { _meta: { ...metaIn(first), progressToken } }),
    ...(answers !== undefined && { inputResponses: answers }),
    ...(requestState !== undefined && { requestState }),
  }
}

export function hasProgressToken(params: Json): boolean {
  return metaIn(params)['progressToken'] !== undefined
}

/** How long to wait before the `n`th retry in a row that nobody was asked for. */
export function pauseMs(n: number): number {
  return n === 1 ? 0 : Math.min(25 * 2 ** (n - 2), 2_000)
}

export function tooMany(count: number): ClientError {
  return tooLarge(`${count} answers at once; at most ${MAX_QUESTIONS} are given`)
}

function tooLarge(what: string): ClientError {
  return new ClientError('INPUT_TOO_LARGE', `The server asked for too much: ${what}.`)
}

function invalid(what: string): ClientError {
  return new ClientError('INPUT_INVALID', `The server asked for input in a way that cannot be read: ${what}.`)
}

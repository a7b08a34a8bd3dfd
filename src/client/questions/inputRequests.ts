/** Input requests as they come over the wire: in an `input_required` result, in a task, or pushed as requests. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { assertStateSize, MAX_QUESTIONS, MAX_STATE_BYTES, tooManyQuestions } from './limits.ts'

/** Questions that are asked together, each under its key. */
export type Questions = readonly (readonly [key: string, request: InputRequest])[]

/** What one `input_required` result asks for. */
export interface QuestionRound {
  readonly questions: Questions
  /** Exactly as it came; undefined if none came. */
  readonly requestState: string | undefined
}

/**
 * Reads an `input_required` result; throws, naming the part that is wrong. Of the state only the type and the size are
 * checked.
 */
export function readInputRequired(result: Json, maxStateBytes: number = MAX_STATE_BYTES): QuestionRound {
  const { inputRequests, requestState } = result
  if (inputRequests === undefined && requestState === undefined) {
    throw invalidInput('it has neither questions nor a state')
  }
  if (requestState !== undefined && typeof requestState !== 'string') throw invalidInput('its state is not a string')
  if (inputRequests !== undefined && !isObject(inputRequests)) throw invalidInput('its questions are not in a map')
  const questions = Object.entries(inputRequests ?? {})
  if (questions.length > MAX_QUESTIONS) throw tooManyQuestions(questions.length)
  if (requestState !== undefined) assertStateSize(requestState, maxStateBytes)
  return { questions: questions.map(readEntry), requestState }
}

function readEntry([key, value]: [string, unknown]): readonly [string, InputRequest] {
  const request = readInputRequest(value)
  if (request === undefined) throw invalidInput('one of its questions is of a kind that does not exist, or incomplete')
  return [key, request]
}

/** One input request; undefined if the value is not valid. Checks only the members that choosing an answerer needs. */
export function readInputRequest(value: unknown): InputRequest | undefined {
  if (!isObject(value)) return undefined
  const { method, params } = value
  switch (method) {
    case 'elicitation/create':
      return isObject(params) && typeof params['message'] === 'string' ? (value as InputRequest) : undefined
    case 'sampling/createMessage':
      return isObject(params) && Array.isArray(params['messages']) ? (value as InputRequest) : undefined
    case 'roots/list':
      return params === undefined || isObject(params) ? (value as InputRequest) : undefined
    default:
      return undefined
  }
}

function invalidInput(what: string): ClientError {
  return new ClientError('INPUT_INVALID', `The server asked for input in a way that cannot be read: ${what}.`)
}

/** From what somebody gives as an answer to the response that goes out, checked before it does. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { answersInShape, isElicitAction, isObject, type Json } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { contentProblems } from './fieldCheck.ts'
import { readFields } from './fields.ts'
import { plainLine } from '../safeText.ts'

/**
 * The content of a form; what a person did with it; or a whole response, such as `{ action: 'accept', content }`, a
 * sampling result or a list of roots.
 */
export type Given = 'accept' | 'decline' | 'cancel' | Json

/** The response to a question; throws, naming the fields that do not fit and no value. */
export function responseTo(key: string, request: InputRequest, given: Given): Json {
  const isSomething = typeof given === 'string' || isObject(given)
  const response = isSomething ? wholeResponse(request, given) : {}
  const problems = responseProblems(request, response)
  if (problems.length === 0) return response
  throw new ClientError('RESPONSE_INVALID', `The answer to "${plainLine(key, 60)}" does not fit: ${problems.join(' ')}`)
}

/** What a question is called in messages: its key comes from the server. */
export function questionName(key: string): string {
  return `The question "${plainLine(key, 60)}"`
}

/** An answerer was given a question of a kind that is not its own. */
export function wrongKind(key: string, answerer: string, request: InputRequest): ClientError {
  const sentence = `${questionName(key)} is ${kindName(request)}; ${answerer} does not answer those.`
  return new ClientError('QUESTION_UNSUPPORTED', sentence)
}

/** There is no answerer for a kind. */
export function noneFor(key: string, request: InputRequest): ClientError {
  const sentence = `${questionName(key)} is ${kindName(request)}, and nobody here answers those; give an answerer.`
  return new ClientError('QUESTION_UNANSWERED', sentence)
}

function kindName({ method, params }: InputRequest): string {
  const isPage = method === 'elicitation/create' && params?.mode === 'url'
  return isPage ? 'a page to visit' : KINDS[method]
}

const KINDS: Readonly<Record<InputRequest['method'], string>> = {
  'elicitation/create': 'a form',
  'sampling/createMessage': 'for a model',
  'roots/list': 'for folders',
}

function wholeResponse(request: InputRequest, given: Given): Json {
  if (typeof given === 'string') return { action: given }
  if (request.method !== 'elicitation/create' || isWhole(given)) return given
  return { action: 'accept', content: given }
}

// A form may have a field "action" of its own; next to other fields it is one.
function isWhole(given: Json): boolean {
  const names = Object.keys(given).filter((name) => !['action', 'content', '_meta'].includes(name))
  return isElicitAction(given['action']) && names.length === 0
}

function responseProblems(request: InputRequest, response: Json): readonly string[] {
  if (!answersInShape(request, response)) return ['It has not the shape of an answer to this question.']
  if (request.method !== 'elicitation/create' || response['action'] !== 'accept') return []
  const { params } = request
  if (params.mode === 'url') return isObject(response['content']) ? ['A page to visit has no content.'] : []
  return contentProblems(readFields(params.requestedSchema), response['content'])
}

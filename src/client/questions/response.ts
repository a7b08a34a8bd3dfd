/** Turns what a host or a person gives as an answer into the response that is sent, and checks it first. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { answersInShape, isElicitAction, isObject, type Json } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { contentProblems } from '../../questions/index.ts'
import { formFields, quotedKeys } from './kinds.ts'

/**
 * An answer from a host: the content of a form; the person's action on the form; or a whole response, such as
 * `{ action: 'accept', content }`, a sampling result or a list of roots.
 */
export type Given = 'accept' | 'decline' | 'cancel' | Json

/** The response to a question; throws, naming the fields that do not fit and no value. */
export function responseTo(key: string, request: InputRequest, given: Given): Json {
  const isSomething = typeof given === 'string' || isObject(given)
  const response = isSomething ? wholeResponse(request, given) : {}
  const problems = responseProblems(request, response)
  if (problems.length === 0) return response
  throw new ClientError('RESPONSE_INVALID', `The answer to ${quotedKeys([key])} does not fit: ${problems.join(' ')}`)
}

function wholeResponse(request: InputRequest, given: Given): Json {
  if (typeof given === 'string') return { action: given }
  if (request.method !== 'elicitation/create' || isWhole(given)) return given
  return { action: 'accept', content: given }
}

// A form may have a field called "action". Beside other fields, "action" is such a field.
function isWhole(given: Json): boolean {
  const names = Object.keys(given).filter((name) => !['action', 'content', '_meta'].includes(name))
  return isElicitAction(given['action']) && names.length === 0
}

function responseProblems(request: InputRequest, response: Json): readonly string[] {
  if (!answersInShape(request, response)) return ['It has not the shape of an answer to this question.']
  if (request.method !== 'elicitation/create' || response['action'] !== 'accept') return []
  const { params } = request
  if (params.mode === 'url') return isObject(response['content']) ? ['A page to visit has no content.'] : []
  return contentProblems(formFields(params.requestedSchema), response['content'])
}

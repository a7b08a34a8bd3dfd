import type { InputRequest } from '@modelcontextprotocol/client'
import type { Json } from '../../protocol/index.ts'
import type { Answerer } from '../questions/answerer.ts'
import { ClientError } from '../errors.ts'
import { questionName } from '../questions/response.ts'

/**
 * Says no to everything: forms and pages are declined (or cancelled, which servers may take as "ask again later"),
 * folders are an empty list. For a model's answer the protocol has no refusal, so that call ends with an error.
 */
export function refuse(action: 'decline' | 'cancel' = 'decline'): Answerer {
  return ({ key, request }) => refusalOf(key, request, action)
}

function refusalOf(key: string, request: InputRequest, action: 'decline' | 'cancel'): Json {
  switch (request.method) {
    case 'elicitation/create':
      return { action }
    case 'roots/list':
      return { roots: [] }
    case 'sampling/createMessage':
      throw new ClientError('QUESTION_REFUSED', `${questionName(key)} for a model was refused here.`)
    default:
      return unreachable(request)
  }
}

function unreachable(request: never): never {
  throw new TypeError(`Unknown input request: ${JSON.stringify(request)}`)
}

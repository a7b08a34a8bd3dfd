/** The kinds of questions: which answerer answers which, and what a client that has it declares. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json } from '../../protocol/index.ts'
import type { Answerer, Answerers } from './answerer.ts'
import { extended } from '../layer/capabilities.ts'

/** A question as it came over the wire, if it is one. Only as much is checked as choosing an answerer takes. */
export function readQuestion(value: unknown): InputRequest | undefined {
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

function kindOf(request: InputRequest): keyof Answerers {
  switch (request.method) {
    case 'elicitation/create':
      return request.params.mode === 'url' ? 'url' : 'form'
    case 'sampling/createMessage':
      return 'sampling'
    case 'roots/list':
      return 'roots'
    default:
      return request satisfies never
  }
}

export function answererFor(request: InputRequest, answerers: Answerers): Answerer | undefined {
  return answerers[kindOf(request)]
}

/** The client's capabilities, with those its answerers add. */
export function withAnswerers(capabilities: Json, { form, url, sampling, roots }: Answerers): Json {
  let all = capabilities
  if (form ?? url) all = extended(all, 'elicitation', elicitationOf(all['elicitation'], form, url))
  if (sampling) all = extended(all, 'sampling', {})
  if (roots) all = extended(all, 'roots', {})
  return all
}

function elicitationOf(declared: unknown, form: Answerer | undefined, url: Answerer | undefined): Json {
  // A declaration without modes means forms; next to `url` that must be said.
  const formsAlready = isObject(declared) && !('url' in declared)
  return { ...((form ?? formsAlready) && { form: {} }), ...(url && { url: {} }) }
}

import type { ClientCapabilities, InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json } from './jsonRpc.ts'

/** The capability that a client must declare to be asked this (`data.requiredCapabilities` of -32021). */
export function neededCapability(request: InputRequest): Record<string, Json> {
  switch (request.method) {
    case 'elicitation/create':
      return { elicitation: request.params.mode === 'url' ? { url: {} } : { form: {} } }
    case 'sampling/createMessage':
      return { sampling: request.params.tools === undefined ? {} : { tools: {} } }
    case 'roots/list':
      return { roots: {} }
    default:
      return unreachable(request)
  }
}

/** The names of capabilities for a sentence, such as `elicitation.url`. */
export function capabilityNames(needed: Readonly<Record<string, Json>>): string {
  const names = Object.entries(needed).map(([area, details]) => [area, ...Object.keys(details)].join('.'))
  return names.join(', ')
}

/** Whether these are the `inputRequests` of a result, as far as they are read here. */
export function areQuestions(value: unknown): value is Record<string, InputRequest> {
  return isObject(value) && Object.values(value).every(isQuestion)
}

function isQuestion(value: unknown): boolean {
  if (!isObject(value)) return false
  const { method, params } = value
  if (method === 'roots/list') return params === undefined || isObject(params)
  return (method === 'elicitation/create' || method === 'sampling/createMessage') && isObject(params)
}

/** Whether `declared` covers a dotted capability: `sampling`, `elicitation.url`, `extensions.dev.example/x`. */
export function declares(declared: ClientCapabilities, capability: string): boolean {
  const dot = capability.indexOf('.')
  const [area, detail] = dot < 0 ? [capability, undefined] : [capability.slice(0, dot), capability.slice(dot + 1)]
  const found = Object.hasOwn(declared, area) ? (declared as Json)[area] : undefined
  if (!isObject(found)) return false
  if (detail === undefined) return true
  // An elicitation capability without modes means forms ("Form mode only (implicit)").
  if (area === 'elicitation' && detail === 'form') return 'form' in found || !('url' in found)
  return Object.hasOwn(found, detail)
}

/** Whether everything in `needed` is declared. */
export function declaresAll(declared: ClientCapabilities, needed: Record<string, Json>): boolean {
  return Object.entries(needed).every(([area, details]) => {
    const names = Object.keys(details)
    return names.length === 0 ? declares(declared, area) : names.every((name) => declares(declared, `${area}.${name}`))
  })
}

/** Whether a value has the shape of an answer to `request`. Its content is validated against the form later. */
export function answersInShape(request: InputRequest, value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false
  switch (request.method) {
    case 'elicitation/create':
      return isElicitResult(value, request.params.mode === 'url')
    case 'sampling/createMessage':
      return typeof value['role'] === 'string' && typeof value['model'] === 'string' && isContent(value['content'])
    case 'roots/list':
      return (
        Array.isArray(value['roots']) &&
        value['roots'].every((root) => isObject(root) && typeof root['uri'] === 'string')
      )
    default:
      return unreachable(request)
  }
}

const ELICIT_ACTIONS: readonly unknown[] = ['accept', 'decline', 'cancel']

/** Whether this is one of the actions that an elicitation can be answered with. */
export function isElicitAction(value: unknown): value is 'accept' | 'decline' | 'cancel' {
  return ELICIT_ACTIONS.includes(value)
}

function isElicitResult(value: Json, visit: boolean): boolean {
  const { action, content } = value
  if (action === 'decline' || action === 'cancel') return true
  return action === 'accept' && (visit || isObject(content))
}

function isContent(content: unknown): boolean {
  return Array.isArray(content) ? content.every(isObject) : isObject(content)
}

function unreachable(request: never): never {
  throw new TypeError(`Unknown input request: ${JSON.stringify(request)}`)
}

/** In the `_meta` of a question that a gateway asks: the tool that it is about. */
export const TOOL_META = 'dev.pannier/tool'

/** In `_meta` of a form that the model of the caller's client may answer. */
export const ASK_MODEL_META = 'dev.pannier/ask-model'

/** Stands before the reason, in the message of a question that is asked again because its answer did not fit. */
export const NOT_ACCEPTED = 'The last answer was not accepted:'

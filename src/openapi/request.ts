/**
 * The HTTP request for a call of a tool. It has the origin of the base address, and its path begins with that address's
 * path.
 */
import { isObject, type Json } from '../protocol/index.ts'
import { member } from './document.ts'
import type { RequestBody } from './media.ts'
import type { Operation } from './operations.ts'
import {
  cookieText,
  encodedPairs,
  filledPath,
  headerText,
  type Pair,
  pairsOf,
  type Parameter,
  type ParameterPlace,
  Unsendable,
} from './parameters.ts'

export type HeaderValues = Readonly<Record<string, string>>

export interface ApiRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: string | undefined
}

/** `own`: headers of the operator, which no argument replaces. Throws `Unsendable`. */
export function requestOf(operation: Operation, base: URL, args: Json, own: HeaderValues): ApiRequest {
  const { method, parameters, accept, body } = operation
  const given = parameters.flatMap((parameter) => {
    const value = member(args, parameter.argument)
    return value === undefined || value === null ? [] : [{ parameter, value }]
  })
  const at = (place: ParameterPlace) => given.filter(({ parameter }) => parameter.place === place)
  const pairsAt = (place: ParameterPlace) => at(place).flatMap(({ parameter, value }) => pairsOf(parameter, value))
  const headers = new Headers({ accept, 'user-agent': 'pannier' })
  for (const { parameter, value } of at('header')) headers.set(parameter.name, headerText(parameter, value))
  for (const [name, value] of Object.entries(own)) headers.set(name, value)
  const cookies = [headers.get('cookie') ?? '', cookieText(pairsAt('cookie'))].filter(Boolean).join('; ')
  if (cookies !== '') headers.set('cookie', cookies)
  const content = body && member(args, body.argument)
  if (body !== undefined && content !== undefined) headers.set('content-type', body.mediaType)
  return {
    url: addressOf(operation, base, pathParameters(parameters), args, pairsAt('query')),
    method,
    headers,
    body: body === undefined || content === undefined ? undefined : bodyText(body, content),
  }
}

function pathParameters(parameters: readonly Parameter[]): readonly Parameter[] {
  return parameters.filter(({ place }) => place === 'path')
}

function addressOf(
  { path }: Operation,
  base: URL,
  parameters: readonly Parameter[],
  args: Json,
  query: readonly Pair[],
): URL {
  // Some documents have queries in their paths.
  const [template = '', fixed = ''] = path.split('?', 2)
  const start = base.pathname.replace(/\/+$/, '')
  const decided = new URLSearchParams(`${base.search.slice(1)}&${fixed}`)
  const asked = query.filter(([name]) => !decided.has(name)) // keeps headers of the operator and of the path
  const queries = [base.search.slice(1), fixed, encodedPairs(asked)].filter(Boolean).join('&')
  const url = new URL(base.origin + start + filledPath(template, parameters, args) + (queries && `?${queries}`))
  if (url.origin === base.origin && url.pathname.startsWith(`${start}/`)) return url
  throw new Unsendable('an argument in the path must not lead elsewhere')
}

function bodyText({ kind, encoding, argument }: RequestBody, content: unknown): string {
  if (kind === 'json') return JSON.stringify(content)
  if (kind === 'text') return String(content)
  if (!isObject(content)) throw new Unsendable(`${argument} must be an object`)
  const pairs = Object.entries(content).flatMap(([name, value]) => {
    const { style, explode } = encoding.get(name) ?? { style: 'form', explode: true }
    // An object has no usual form, and its members could collide with members of the body.
    const isJson = isObject(value) && !encoding.has(name)
    return pairsOf({ name, style, explode, isJson }, value)
  })
  return encodedPairs(pairs)
}

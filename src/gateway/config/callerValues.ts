/**
 * Headers for a server, and variables of a process, that depend on the caller: `${principal.id}` and
 * `${principal.claims.NAME}` in their values.
 */
import type { Address } from '../../client/index.ts'
import type { Principal } from '../../server/index.ts'
import { isLocalHost } from '../../server/internal.ts'
import { VIA_HEADER } from '../loops.ts'

type NamedValues = Readonly<Record<string, string>>

/** The values for one caller, or a sentence for the caller with the reason why they are missing, without any value. */
export type CallerValues =
  | { readonly kind: 'values'; readonly values: NamedValues }
  | { readonly kind: 'refused'; readonly sentence: string }

export type CallerValueKind = 'header' | 'variable'

const REFERENCE = /\$\{\s*(principal\.[^}]*?)\s*\}/g
const CLAIM = /^principal\.claims\.(.+)$/

/** Whether a variable refers to the principal, and is filled in for each call. */
export function isPrincipalVariable(name: string): boolean {
  return name.startsWith('principal.')
}

/** Whether values differ by caller. */
export function dependOnPrincipal(values: NamedValues = {}): boolean {
  return Object.values(values).some((value) => value.search(REFERENCE) >= 0)
}

/** The values that are the same for all callers. */
export function withoutPrincipal(values: NamedValues = {}): NamedValues {
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => !dependOnPrincipal({ [name]: value })))
}

/** The reason why this is no header name; undefined if it is one. */
export function headerNameFault(name: string): string | undefined {
  return TOKEN.test(name) ? undefined : 'must be the name of a header, such as X-Real-IP.'
}

/** The reason why a configured header can never be sent; undefined if it can. */
export function headerFault(name: string, value: string): string | undefined {
  if (!TOKEN.test(name)) return 'has a name that cannot stand in a request.'
  return referenceFault(value) ?? (VALUE.test(value) ? undefined : 'has characters that cannot stand in a header.')
}

/** Headers of the requests that carry a call to the server of an OpenAPI document. All others are for its API. */
const OF_TRANSPORT: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'baggage',
  'connection',
  'content-length',
  'content-type',
  'host',
  'keep-alive',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'upgrade',
  'user-agent',
])

/** Whether a header belongs to the way of a call through the gateway, and is not passed on to an API. */
export function isTransportHeader(name: string): boolean {
  const lower = name.toLowerCase()
  return OF_TRANSPORT.has(lower) || lower.startsWith('mcp-') || lower === VIA_HEADER
}

/** The reason why a value refers to something that no principal has; undefined if it may be filled in. */
export function referenceFault(value: string): string | undefined {
  const isKnown = references(value).every((variable) => variable === 'principal.id' || CLAIM.test(variable))
  return isKnown ? undefined : 'may use ${principal.id} and ${principal.claims.NAME}, and nothing else of it.'
}

/** The reason why callers' tokens must not be forwarded to an address; undefined if they may. */
export function forwardFault(address: Address): string | undefined {
  if (!('url' in address)) return 'is for servers over HTTP; a program gets no headers.'
  if (Object.keys(address.headers ?? {}).some((name) => name.toLowerCase() === 'authorization'))
    return 'cannot be true, because the entry has an Authorization header of its own.'
  const { protocol, hostname } = URL.canParse(address.url) ? new URL(address.url) : {}
  if (protocol !== 'http:' || isLocalHost(hostname ?? '')) return undefined
  return "cannot be true, because anybody on the way could read callers' tokens: the address is not https."
}

// RFC 9110, 5.6.2 and 5.5, without bytes beyond ASCII, which implementations send and read differently.
const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/
const VALUE = /^[\t\x20-\x7e]*$/

function references(value: string): readonly string[] {
  return [...value.matchAll(REFERENCE)].map(([, variable = '']) => variable)
}

/** The values for a caller. A caller with an invalid value is refused, and nothing is sent in its place. */
export function valuesFor(
  kind: CallerValueKind,
  values: NamedValues = {},
  principal: Principal | undefined,
): CallerValues {
  const filled: Record<string, string> = {}
  for (const [name, value] of Object.entries(values)) {
    const variables = new Map(references(value).map((variable) => [variable, valueOf(kind, variable, principal)]))
    for (const [variable, found] of variables) {
      if ('fault' in found) return refused(`${kind} ${name}`, variable, found.fault)
    }
    filled[name] = value.replace(REFERENCE, (_, variable: string) => {
      const found = variables.get(variable)
      return found !== undefined && 'value' in found ? found.value : ''
    })
  }
  return { kind: 'values', values: filled }
}

function refused(what: string, variable: string, fault: string): CallerValues {
  return { kind: 'refused', sentence: `The ${what} for this server needs ${variable}, ${fault}` }
}

type Found = { readonly value: string } | { readonly fault: string }

function valueOf(kind: CallerValueKind, variable: string, principal: Principal | undefined): Found {
  if (principal === undefined) return { fault: 'and the caller is anonymous.' }
  const value = variable === 'principal.id' ? principal.id : claimOf(variable, principal)
  if (typeof value !== 'string') return { fault: 'which the caller does not have as a text, a number or a boolean.' }
  return IS_VALID[kind](value) ? { value } : { fault: `and that of this caller cannot stand in a ${kind}.` }
}

const IS_VALID: Readonly<Record<CallerValueKind, (value: string) => boolean>> = {
  // Spaces at the ends are trimmed in transit, so two callers could become one.
  header: (value) => VALUE.test(value) && value.trim() === value && value !== '',
  variable: (value) => !value.includes('\0') && value !== '',
}

function claimOf(variable: string, { claims = {} }: Principal): unknown {
  const name = CLAIM.exec(variable)?.[1] ?? ''
  const claim = Object.hasOwn(claims, name) ? claims[name] : undefined
  return typeof claim === 'number' || typeof claim === 'boolean' ? String(claim) : claim
}

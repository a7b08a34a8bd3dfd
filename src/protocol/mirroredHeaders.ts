/** The writing side of the headers that repeat something from the body; `headers.ts` and `paramHeaders.ts` read them. */
import { NAMED_BY, SENTINEL_END, SENTINEL_START } from './headers.ts'
import { isObject, type Json } from './jsonRpc.ts'
import { type ParamHeader, valueAt } from './paramHeaders.ts'

const PLAIN = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/

/** A value as a header may hold it: as it is, or as base64 of its UTF-8 ("Value Encoding"). */
export function encodeHeader(value: string): string {
  const looksEncoded = value.startsWith(SENTINEL_START) && value.endsWith(SENTINEL_END)
  if (PLAIN.test(value) && !looksEncoded) return value
  const bytes = new TextEncoder().encode(value)
  return `${SENTINEL_START}${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}${SENTINEL_END}`
}

/** The headers of a request of the stateless revision. */
export function requestHeaders(method: string, params: Json, version: string): Record<string, string> {
  const field = NAMED_BY.get(method)
  const name = field === undefined ? undefined : params[field]
  return {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': encodeHeader(name) }),
  }
}

/** The headers of a tool call's mirrored arguments. What is absent or null has none. */
export function paramHeaderValues(mirrored: readonly ParamHeader[], args: unknown): Record<string, string> {
  const values = mirrored.flatMap(({ field, path }) => {
    const value = isObject(args) ? valueAt(args, path) : undefined
    const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    return isScalar ? [[field, encodeHeader(String(value))] as const] : []
  })
  return Object.fromEntries(values)
}

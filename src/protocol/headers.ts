import { ProtocolError } from './errors.ts'
import type { Json, RequestMessage } from './jsonRpc.ts'

/** Reads a header by its lower-case name. */
export type HeaderReader = (name: string) => string | undefined

const SENTINEL_START = '=?base64?'
const SENTINEL_END = '?='
const PLAIN_VALUE = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/
const SAFE_VALUE = /^[\t\x20-\x7e]*$/
const CANONICAL_BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The media type in a Content-Type header, in lower case and without parameters; '' where there is none. */
export function mediaTypeOf(contentType: string | null | undefined): string {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? ''
}

/** The longest name of a tool or prompt, and the longest address of a resource: both are sent in headers. */
export const MAX_NAME_CHARS = 1024
export const MAX_URI_CHARS = 8192

/** The parameter that `Mcp-Name` mirrors, by method. */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** The headers of a request of 2026-07-28. */
export function requestHeaders(method: string, params: Json, version: string): Record<string, string> {
  const field = NAMED_BY.get(method)
  const name = field === undefined ? undefined : params[field]
  return {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': encodeHeader(name) }),
  }
}

/** Streamable HTTP, "Server Validation": headers and body must agree. */
export function assertHeadersAgree(message: RequestMessage, version: string, header: HeaderReader): void {
  assertSame('MCP-Protocol-Version', header('mcp-protocol-version'), version)
  assertSame('Mcp-Method', header('mcp-method'), message.method)
  const field = NAMED_BY.get(message.method)
  if (field === undefined) return
  const value = message.params[field]
  if (typeof value !== 'string') return // the handler of the method reports this
  const name = header('mcp-name')
  if (name === value && !name.startsWith(SENTINEL_START)) return // fast path: most names are not encoded
  assertSame('Mcp-Name', decodeHeader('Mcp-Name', name), value)
}

/** A value as a header may contain it: unchanged, or as base64 of its UTF-8 ("Value Encoding"). */
export function encodeHeader(value: string): string {
  const looksEncoded = value.startsWith(SENTINEL_START) && value.endsWith(SENTINEL_END)
  if (PLAIN_VALUE.test(value) && !looksEncoded) return value
  const bytes = new TextEncoder().encode(value)
  return `${SENTINEL_START}${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}${SENTINEL_END}`
}

/** The value of a header, decoded if it is base64. Throws if it is not a valid header value. */
export function decodeHeader(name: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  if (!SAFE_VALUE.test(value)) throw mismatch(`${name} contains characters that are not allowed in a header.`)
  const trimmed = value.trim()
  if (!trimmed.startsWith(SENTINEL_START) || !trimmed.endsWith(SENTINEL_END)) return trimmed
  return decodeBase64(name, trimmed.slice(SENTINEL_START.length, -SENTINEL_END.length))
}

function decodeBase64(name: string, encoded: string): string {
  if (!CANONICAL_BASE64.test(encoded)) throw mismatch(`${name} is not valid base64.`)
  try {
    return utf8.decode(Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0)))
  } catch (cause) {
    throw mismatch(`${name} is base64 of something that is not UTF-8.`, cause)
  }
}

function assertSame(name: string, header: string | undefined, body: string): void {
  if (header === body) return
  if (header === undefined) throw mismatch(`The ${name} header is missing.`)
  if (name === 'Mcp-Name' || header.trim() !== body) throw mismatch(`The ${name} header differs from the body.`)
}

export function mismatch(sentence: string, cause?: unknown): ProtocolError {
  const error = new ProtocolError('HEADER_MISMATCH', sentence)
  if (cause !== undefined) error.cause = cause
  return error
}

/**
 * The session era does not require these headers. But a proxy may have routed or allowed the request by one that is
 * present, so it must match the message.
 */
export function assertPresentAgree(message: RequestMessage, header: HeaderReader): void {
  const params = header('mcp-name') === undefined ? {} : message.params
  const present: HeaderReader = (name) => {
    if (name === 'mcp-protocol-version') return '' // here the version is the session's
    return header(name) ?? (name === 'mcp-method' ? message.method : undefined)
  }
  assertHeadersAgree({ ...message, params }, '', present)
}

/** The headers that pass between a caller and a server. All others end at the gateway. */
import type { IncomingHttpHeaders } from 'node:http'
import { ProtocolError, remembered, rememberedTexts } from '../../protocol/index.ts'
import { VIA_HEADER } from '../loops.ts'

/**
 * Headers of callers, beside those of the protocol. Never credentials: Authorization and Cookie are for the gateway.
 */
const OF_CALLERS: ReadonlySet<string> = new Set([
  'accept',
  'content-type',
  'traceparent',
  'tracestate',
  'baggage',
  VIA_HEADER,
])

/**
 * Headers of servers, beside those of the protocol. No cookies and no challenges: clients would take them for the
 * gateway's.
 */
const OF_SERVERS: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'cache-control',
  'retry-after',
  'x-accel-buffering',
])

/** Session ids belong to older revisions; the gateway issues its own. */
const SESSION = 'mcp-session-id'
const ACCEPT = ['accept', 'application/json, text/event-stream'] as const
/** Without `identity` a response may be compressed, and its size unknown. */
const PLAIN = ['accept-encoding', 'identity'] as const

/**
 * The headers of a caller for a server, names and values in turn. `own` are the server's configured headers, which
 * replace the caller's. Throws for a duplicate protocol header: readers differ in which one they take.
 */
export function requestHeadersOf(raw: readonly string[], own: Readonly<Record<string, string>> = NO_HEADERS): string[] {
  const headers: string[] = []
  const replaced = namesIn(own)
  let accepts = false
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = passedName(raw[at] as string)
    if (name === NOT_PASSED || replaced.has(name)) continue
    accepts ||= name === 'accept'
    if (name.startsWith('mcp-') && headers.includes(name)) assertOnce(name, raw)
    headers.push(name, raw[at + 1] as string)
  }
  if (!accepts && !replaced.has('accept')) headers.push(...ACCEPT)
  if (!replaced.has('accept-encoding')) headers.push(...PLAIN)
  if (replaced !== NONE) for (const [name, value] of Object.entries(own)) headers.push(name, value)
  return headers
}

function assertOnce(name: string, raw: readonly string[]): void {
  const times = raw.filter((each, at) => at % 2 === 0 && each.toLowerCase() === name).length
  if (times > 1) throw new ProtocolError('HEADER_MISMATCH', `The ${name} header comes more than once.`)
}

/** RFC 9110, 5.5. Node and fetch refuse to send any other character. */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/

export function answerHeadersOf(given: IncomingHttpHeaders): string[] {
  const headers: string[] = []
  for (const name in given) {
    const value = given[name]
    if (value === undefined || !isPassed(name, OF_SERVERS)) continue
    for (const each of typeof value === 'string' ? [value] : value) if (SENDABLE.test(each)) headers.push(name, each)
  }
  return headers
}

const MAX_SPELLINGS = 500
const NOT_PASSED = ''

/** The name as it is sent, by the caller's spelling; empty for a header that does not pass. Callers use few spellings. */
const passedName = rememberedTexts((spelling) => {
  const lower = spelling.toLowerCase()
  return isPassed(lower, OF_CALLERS) ? lower : NOT_PASSED
}, MAX_SPELLINGS)

function isPassed(name: string, listed: ReadonlySet<string>): boolean {
  return listed.has(name) || (name.startsWith('mcp-') && name !== SESSION)
}

const NONE: ReadonlySet<string> = new Set()
const NO_HEADERS: Readonly<Record<string, string>> = {}

const namesIn = remembered((headers: Readonly<Record<string, string>>): ReadonlySet<string> => {
  const names = Object.keys(headers).map((name) => name.toLowerCase())
  return names.length === 0 ? NONE : new Set(names)
})

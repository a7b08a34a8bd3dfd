/**
 * Method 1, the sequential connection test: `initialize` on one connection, `tools/list` on another that never saw it.
 * A server that answers the second needs no session. A pure function of the two replies, tested as a table.
 */
import { errorTextOf, type ProbeReply, replyText, isTemporary, isResult, isUnauthorized } from '../wire/reply.ts'
import { type MethodResult, methodResult } from './result.ts'

const CONFIDENCE = 0.99
// "initialization", "not initialized", "initialise first", "No valid session ID", "missing Mcp-Session-Id", …
const ABOUT_SESSIONS = /initiali[sz]|session/i

/** Whether a reply asks for a session or for `initialize`. */
export function asksForSession(reply: ProbeReply): boolean {
  // A 401 with a challenge means missing credentials. Without a challenge, it may mean a missing session.
  if (isTemporary(reply) || (isUnauthorized(reply) && reply.http?.challenge)) return false
  return ABOUT_SESSIONS.test(errorTextOf(reply))
}

/** `bare` is the reply to `tools/list` without `initialize`; it is not needed where `initialize` failed. */
export function sequentialResult(initialize: ProbeReply, bare: ProbeReply | undefined): MethodResult {
  if (!isResult(initialize)) return unknown(`To initialize it ${replyText(initialize)}.`, initialize)
  if (bare === undefined) return methodResult('sequential', 'UNKNOWN', 'tools/list was not sent.', { confidence: 0 })
  if (isResult(bare)) return fromList(bare.result['tools'], bare)
  if (asksForSession(bare)) {
    const message = `It wants a session: to tools/list without initialize it ${replyText(bare)}.`
    return methodResult('sequential', 'STATEFUL', message, {
      confidence: CONFIDENCE,
      details: { error: errorTextOf(bare).trim() },
    })
  }
  return unknown(`To tools/list without initialize it ${replyText(bare)}, which says nothing about sessions.`, bare)
}

function fromList(tools: unknown, bare: ProbeReply): MethodResult {
  if (!Array.isArray(tools)) return unknown('Its answer to tools/list without initialize has no list of tools.', bare)
  const count = tools.length === 1 ? '1 tool' : `${tools.length} tools`
  const message = `It answers tools/list on a connection without initialize (${count}).`
  return methodResult('sequential', 'STATELESS', message, {
    confidence: CONFIDENCE,
    details: { toolCount: tools.length },
  })
}

function unknown(message: string, reply: ProbeReply): MethodResult {
  const error = errorTextOf(reply).trim()
  return methodResult('sequential', 'UNKNOWN', message, { confidence: 0, ...(error !== '' && { details: { error } }) })
}

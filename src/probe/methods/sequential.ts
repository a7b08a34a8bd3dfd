/**
 * Method 1, the sequential connection test: `initialize` on one connection, `tools/list` on another that never saw it.
 * Who answers the second keeps no session. A function of what was heard, so that it can be tested as a table.
 */
import { complaintOf, type Heard, heardText, isPassing, isResult, isWall } from '../wire/reply.ts'
import { type MethodResult, methodResult } from './result.ts'

const CONFIDENCE = 0.99
// "initialization", "not initialized", "initialise first", "No valid session ID", "missing Mcp-Session-Id", …
const ABOUT_SESSIONS = /initiali[sz]|session/i

/** Whether a server says that it misses a session or its beginning. */
export function missesSession(heard: Heard): boolean {
  // A challenge means: say who you are. Without one, some servers say 401 and mean the session.
  if (isPassing(heard) || (isWall(heard) && heard.http?.challenge)) return false
  return ABOUT_SESSIONS.test(complaintOf(heard))
}

/** `bare` is the answer to `tools/list` without `initialize`; it is not needed where `initialize` failed. */
export function sequentialResult(initialize: Heard, bare: Heard | undefined): MethodResult {
  if (!isResult(initialize)) return unknown(`To initialize it ${heardText(initialize)}.`, initialize)
  if (bare === undefined) return methodResult('sequential', 'UNKNOWN', 'tools/list was not sent.', { confidence: 0 })
  if (isResult(bare)) return fromList(bare.result['tools'], bare)
  if (missesSession(bare)) {
    const message = `It wants a session: to tools/list without initialize it ${heardText(bare)}.`
    return methodResult('sequential', 'STATEFUL', message, {
      confidence: CONFIDENCE,
      details: { error: complaintOf(bare).trim() },
    })
  }
  return unknown(`To tools/list without initialize it ${heardText(bare)}, which says nothing about sessions.`, bare)
}

function fromList(tools: unknown, bare: Heard): MethodResult {
  if (!Array.isArray(tools)) return unknown('Its answer to tools/list without initialize has no list of tools.', bare)
  const count = tools.length === 1 ? '1 tool' : `${tools.length} tools`
  const message = `It answers tools/list on a connection without initialize (${count}).`
  return methodResult('sequential', 'STATELESS', message, {
    confidence: CONFIDENCE,
    details: { toolCount: tools.length },
  })
}

function unknown(message: string, heard: Heard): MethodResult {
  const error = complaintOf(heard).trim()
  return methodResult('sequential', 'UNKNOWN', message, { confidence: 0, ...(error !== '' && { details: { error } }) })
}

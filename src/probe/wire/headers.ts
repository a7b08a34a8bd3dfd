/** The headers of the probe's requests. */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { hasEnvelope, MODERN_VERSION, requestHeaders } from '../../protocol/index.ts'
import { ProbeError } from '../errors.ts'
import type { AnswerMessage, Notification, Request } from './messages.ts'
import { HIDDEN } from '../secrets.ts'

export type Headers = Readonly<Record<string, string>>

const POST_HEADERS: Headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const USER_AGENT: Headers = { 'user-agent': 'pannier-probe' }
/** A small compressed body can expand beyond every limit. */
const NO_COMPRESSION: Headers = { 'accept-encoding': 'identity' }

/** The headers of a message. Those of the stateless revision mirror parts of the body. */
export function messageHeaders(message: Request | Notification | AnswerMessage): Headers {
  return 'method' in message && message.params !== undefined && hasEnvelope(message.params)
    ? { ...POST_HEADERS, ...requestHeaders(message.method, message.params, MODERN_VERSION) }
    : POST_HEADERS
}

/** Adds the given headers. Headers that the protocol needs take precedence. */
export function withGivenHeaders(given: Headers, needed: Headers): Headers {
  const lowerCased = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const)
  return { ...USER_AGENT, ...Object.fromEntries(lowerCased), ...NO_COMPRESSION, ...needed }
}

/** The same header names with hidden values, for the trace. Short values are hidden, too. */
export function hiddenValues(given: Headers): Headers {
  return Object.fromEntries(Object.keys(given).map((name) => [name, HIDDEN]))
}

/** Throws where a header cannot be sent. The message names the header, never its value. */
export function assertSendable(headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) {
    // With a given session id, no request would be one without a session.
    if (name.toLowerCase() === 'mcp-session-id') {
      throw new ProbeError(
        'PROBE_OPTION_INVALID',
        'Leave out the header Mcp-Session-Id: the probe begins its own sessions.',
      )
    }
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    } catch {
      throw new ProbeError('PROBE_OPTION_INVALID', `The header ${JSON.stringify(name)} cannot be sent as it is given.`)
    }
  }
}

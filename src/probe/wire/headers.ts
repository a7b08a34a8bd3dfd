/** The headers of the probe's requests. */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { hasEnvelope, MODERN_VERSION, requestHeaders } from '../../protocol/index.ts'
import { ProbeError } from '../errors.ts'
import type { Notification, Request } from './messages.ts'
import { HIDDEN } from '../secrets.ts'

export type Headers = Readonly<Record<string, string>>

const POSTED: Headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const OURS: Headers = { 'user-agent': 'pannier-probe' }
/** What is compressed can unfold into more than anybody wants to read. */
const PLAIN: Headers = { 'accept-encoding': 'identity' }

/** Those of a message; one of the stateless revision repeats there what its body says. */
export function messageHeaders(message: Request | Notification): Headers {
  const isModern = 'params' in message && hasEnvelope(message.params)
  return isModern ? { ...POSTED, ...requestHeaders(message.method, message.params, MODERN_VERSION) } : POSTED
}

/** What was given goes along, and what the protocol needs comes before it. */
export function withCredentials(given: Headers, needed: Headers): Headers {
  const lowerCased = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const)
  return { ...OURS, ...Object.fromEntries(lowerCased), ...PLAIN, ...needed }
}

/** The same names, for showing: however short a value is, it was given to get in with. */
export function hiddenValues(given: Headers): Headers {
  return Object.fromEntries(Object.keys(given).map((name) => [name, HIDDEN]))
}

/** Names the header that cannot be sent, and not its value. */
export function assertSendable(headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) {
    // With a session of somebody else, no request would be one without a session.
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

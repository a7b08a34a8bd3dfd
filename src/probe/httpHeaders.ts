/** The headers of the probe's requests. */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { hasEnvelope, MODERN_VERSION, requestHeaders } from '../protocol/index.ts'
import { ProbeError } from './errors.ts'
import type { Notification, Request } from './messages.ts'

export type Headers = Readonly<Record<string, string>>

const POSTED: Headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const OURS: Headers = { 'user-agent': 'pannier-probe', 'accept-encoding': 'identity' }

/** Those of a message; one of the stateless revision repeats there what its body says. */
export function messageHeaders(message: Request | Notification): Headers {
  const isModern = 'params' in message && hasEnvelope(message.params)
  return isModern ? { ...POSTED, ...requestHeaders(message.method, message.params, MODERN_VERSION) } : POSTED
}

/** What was given goes along, and what the protocol needs comes before it. */
export function withCredentials(given: Headers, needed: Headers): Headers {
  const lowerCased = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const)
  return { ...OURS, ...Object.fromEntries(lowerCased), ...needed }
}

/** Names the header that cannot be sent, and not its value. */
export function assertSendable(headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    } catch {
      throw new ProbeError('PROBE_OPTION_INVALID', `The header ${JSON.stringify(name)} cannot be sent as it is given.`)
    }
  }
}

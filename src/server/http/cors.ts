/** What a browser must be told before it lets a page of an allowed Origin call, and read what comes back. */
import type { HeaderReader } from '../../protocol/index.ts'
import type { Reply } from './reply.ts'

/** The headers for a request whose Origin has passed the guard; undefined when no page is calling. */
export function corsHeaders(header: HeaderReader): Readonly<Record<string, string>> | undefined {
  const origin = header('origin')
  if (origin === undefined) return undefined
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'mcp-session-id, www-authenticate, retry-after',
    vary: 'origin',
  }
}

/** The answer to the browser's question before the call itself. It brings no credentials, so it is not held to any. */
export function preflightReply(method: string | undefined, header: HeaderReader): Reply | undefined {
  const wanted = header('access-control-request-method')
  if (method !== 'OPTIONS' || wanted === undefined) return undefined
  return {
    status: 204,
    headers: {
      'access-control-allow-methods': 'POST, GET, DELETE',
      // Parameter headers have names of their own, so what the page wants to send is what it may send.
      'access-control-allow-headers': header('access-control-request-headers') ?? '*',
      'access-control-max-age': '600',
    },
  }
}

/** CORS: the headers by which a browser lets a page of an allowed Origin call, and read the answer. */
import type { HeaderReader } from '../../protocol/index.ts'
import type { EndpointRequest, HttpReply } from './exchange.ts'

/** The headers for a request whose Origin was allowed; undefined when no page is calling. */
export function corsHeaders(header: HeaderReader): Readonly<Record<string, string>> | undefined {
  const origin = header('origin')
  if (origin === undefined) return undefined
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'mcp-session-id, www-authenticate, retry-after',
    vary: 'origin',
  }
}

/** The answer to a browser's preflight request, which comes before the call and brings no credentials. */
export function preflightReply({ method, header }: Pick<EndpointRequest, 'method' | 'header'>): HttpReply | undefined {
  const wanted = header('access-control-request-method')
  if (method !== 'OPTIONS' || wanted === undefined) return undefined
  return {
    status: 204,
    headers: {
      'access-control-allow-methods': 'POST, GET, DELETE',
      // Parameter headers have names that tools choose, so every header that the page wants to send is allowed.
      'access-control-allow-headers': header('access-control-request-headers') ?? '*',
      'access-control-max-age': '600',
    },
  }
}

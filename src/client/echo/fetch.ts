/**
 * `state` beside `params` and `result` (SEP-1685), over HTTP. The SDK's transports refuse messages with unknown members
 * before any layer sees them, so this works below them, around `fetch`.
 */
import type { FetchLike } from '@modelcontextprotocol/client'
import { withTopDeclared, EchoStates } from './states.ts'
import { isEventStream, mapEvents } from '../transports/eventStream.ts'

/** Takes states off requests that come in, and puts them on their responses. Does nothing in the stateless revision. */
export function echoFetch(inner: FetchLike = fetch): FetchLike {
  const states = new EchoStates()

  return async (url, init) => {
    const headers = init?.headers instanceof Headers ? init.headers : new Headers(init?.headers)
    if (headers.has('mcp-method')) return inner(url, init)
    const channel = `${String(url)} ${headers.get('mcp-session-id') ?? ''}`
    const { body } = init ?? {}
    const out = typeof body === 'string' ? states.outgoing(withTopDeclared(body), channel) : undefined
    const response = await inner(url, out === undefined ? init : { ...init, body: out.text })
    // A response that the server refused, for instance for an expired token, is sent again with its state.
    if (response.ok) out?.settle()
    // Requests of a server come as events. A JSON body is the response to the request that was posted.
    return isEventStream(response) ? mapEvents(response, { each: (data) => states.incoming(data, channel) }) : response
  }
}

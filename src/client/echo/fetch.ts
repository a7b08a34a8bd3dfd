/**
 * `state` beside the parameters, over HTTP. The SDK's transports refuse messages with members they do not know, before
 * any layer sees them, so this works below: around `fetch`.
 */
import type { FetchLike } from '@modelcontextprotocol/client'
import { declaredInText, EchoStates } from './states.ts'
import { isEventStream, mapEvents } from '../transports/eventStream.ts'

/** Takes the state off what comes in, and puts it on the answer that goes out. The stateless revision passes. */
export function echoFetch(inner: FetchLike = fetch): FetchLike {
  const states = new EchoStates()

  return async (url, init) => {
    const headers = init?.headers instanceof Headers ? init.headers : new Headers(init?.headers)
    if (headers.has('mcp-method')) return inner(url, init)
    const channel = `${String(url)} ${headers.get('mcp-session-id') ?? ''}`
    const { body } = init ?? {}
    const out = typeof body === 'string' ? states.outgoing(declaredInText(body), channel) : undefined
    const response = await inner(url, out === undefined ? init : { ...init, body: out.text })
    // An answer that was refused, say for its token, is sent again.
    if (response.ok) out?.settle()
    // A server's own requests come by events; a body of JSON is the answer to what was posted.
    return isEventStream(response) ? mapEvents(response, { each: (data) => states.incoming(data, channel) }) : response
  }
}

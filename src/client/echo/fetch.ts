/**
 * `state` beside `params` and `result` (SEP-1685), over HTTP. The SDK's transports refuse messages with unknown members
 * before any layer sees them, so this works below them, around `fetch`.
 */
import { assertOptionNames, type OptionNames } from '../../protocol/index.ts'
import type { FetchLike } from '@modelcontextprotocol/client'
import { AskingStreams, postPersistently } from './answers.ts'
import { withTopDeclared, EchoStates } from './states.ts'
import { isEventStream, mapEvents } from '../transports/eventStream.ts'

export interface EchoFetchOptions {
  /**
   * Whether all requests belong to one connection, as over HTTP+SSE, whose answers go to another address than its
   * questions come from. @default false
   */
  isOneConnection?: boolean
}

const ECHO_OPTIONS: OptionNames<EchoFetchOptions> = { isOneConnection: true }

/**
 * Takes states off requests that come in, and puts them on their responses. After the stream of a call was cut, the
 * answers that may be lost with it are posted again. Does nothing in the stateless revision.
 */
export function echoFetch(inner: FetchLike = fetch, options: EchoFetchOptions = {}): FetchLike {
  assertOptionNames(options, ECHO_OPTIONS, 'echoFetch()')
  const states = new EchoStates()
  const streams = new AskingStreams()

  /** Posts a message of the client, with its state if it is the answer to a question that had one. */
  const post = async (url: string | URL, init: RequestInit, channel: string, body: string): Promise<Response> => {
    const { text, key, settle } = states.outgoing(withTopDeclared(body), channel)
    if (key === undefined) return inner(url, { ...init, body: text })
    const send = (authorization: string | null): Promise<Response> => {
      const headers = new Headers(init.headers)
      if (authorization !== null) headers.set('authorization', authorization) // the newest token
      return postPersistently(inner, url, { ...init, headers, body: text })
    }
    const posting = send(null)
    streams.answered(key, { post: send, posting, chars: text.length })
    const response = await posting
    // A response that the server refused, for instance for an expired token, is sent again with its state.
    if (response.ok) settle()
    return response
  }

  return async (url, init = {}) => {
    const headers = init.headers instanceof Headers ? init.headers : new Headers(init.headers)
    if (headers.has('mcp-method')) return inner(url, init)
    const channel = options.isOneConnection ? '' : `${String(url)} ${headers.get('mcp-session-id') ?? ''}`
    const response = typeof init.body === 'string' ? await post(url, init, channel, init.body) : await inner(url, init)
    // Requests of a server come as events. A JSON body is the response to the request that was posted.
    if (!isEventStream(response)) return response
    const stream = streams.at(channel, headers.get('last-event-id'))
    void stream.postAgain(headers.get('authorization'))
    return mapEvents(response, {
      each: (data, id) => {
        stream.received(data, id)
        return states.incoming(data, channel, (question) => stream.asked(question))
      },
    })
  }
}

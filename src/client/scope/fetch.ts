/**
 * Refuses requests that a server sends on the GET stream of the session revisions. That stream belongs to no request of
 * the client, so neither do its messages. They are taken out of the stream here.
 */
import { assertOptionNames } from '../../protocol/index.ts'
import type { FetchLike } from '@modelcontextprotocol/client'
import { isEventStream, mapEvents } from '../transports/eventStream.ts'
import { type Refused, refusalOf, SCOPE_OPTIONS, type ScopeOptions } from './layer.ts'
import { isRequest, messageIn, type WireRequest } from '../layer/message.ts'

const REASON = 'It came on the GET stream, which belongs to no request of the client.'

/** A `fetch` for the SDK's transport that refuses requests of a server on the GET stream (SEP-2260). */
export function scopeFetch(inner: FetchLike = fetch, options: ScopeOptions = {}): FetchLike {
  assertOptionNames(options, SCOPE_OPTIONS, 'scopeFetch()')
  const { onRefused } = options
  /** The last event id of each GET stream. A GET that resumes one of these ids is such a stream, too. */
  const resumable = new Set<string>()

  return async (url, init) => {
    const response = await inner(url, init)
    if ((init?.method ?? 'GET') !== 'GET' || !isEventStream(response)) return response
    const headers = new Headers(init?.headers)
    let last = headers.get('last-event-id') ?? undefined
    if (last !== undefined && !resumable.has(last)) return response
    return mapEvents(response, {
      each(data, id) {
        if (id !== undefined && id !== last) {
          if (last !== undefined) resumable.delete(last)
          resumable.add(id)
          last = id
        }
        const request = requestIn(data)
        if (request === undefined) return data
        onRefused?.(refusedOf(request))
        void sendRefusal(inner, url, headers, request)
        return undefined
      },
    })
  }
}

/** A request other than a ping. The transport reports messages that are not JSON. */
function requestIn(data: string): WireRequest | undefined {
  const message = messageIn(data)
  return message !== undefined && isRequest(message) && message.method !== 'ping' ? message : undefined
}

function refusedOf({ method, id }: WireRequest): Refused {
  return { method, id, reason: REASON }
}

async function sendRefusal(inner: FetchLike, url: string | URL, stream: Headers, request: WireRequest): Promise<void> {
  const headers = new Headers(stream)
  headers.delete('last-event-id')
  headers.set('content-type', 'application/json')
  headers.set('accept', 'application/json, text/event-stream')
  const body = JSON.stringify(refusalOf(request))
  try {
    const response = await inner(url, { method: 'POST', headers, body })
    await response.body?.cancel()
  } catch {
    // The server does not get the refusal. The client does not see the request in any case.
  }
}

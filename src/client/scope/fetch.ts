/**
 * What a server asks on the stream that belongs to no request (the GET stream of the session revisions) belongs to none
 * either, whatever else is under way. Such a request is taken out of the stream here, and refused.
 */
import type { FetchLike } from '@modelcontextprotocol/client'
import { isEventStream, mapEvents } from '../transports/eventStream.ts'
import { type Refused, refusalOf, type ScopeOptions } from './layer.ts'
import type { WireMessage } from '../layer/transport.ts'
import { isRequest, type WireRequest } from '../layer/message.ts'

const REASON = 'It came on the stream that belongs to no request.'

export function scopeFetch(inner: FetchLike = fetch, { onRefused }: ScopeOptions = {}): FetchLike {
  /** The last event id of each such stream: whoever resumes one of these resumes a stream of this kind. */
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
        const request = unrelatedIn(data)
        if (request === undefined) return data
        onRefused?.(refusedOf(request))
        void refuse(inner, url, headers, request)
        return undefined
      },
    })
  }
}

function unrelatedIn(data: string): WireRequest | undefined {
  try {
    const message = JSON.parse(data) as WireMessage
    return isRequest(message) && message.method !== 'ping' ? message : undefined
  } catch {
    return undefined // the transport says what is wrong with it
  }
}

function refusedOf({ method, id }: WireRequest): Refused {
  return { method, id, reason: REASON }
}

async function refuse(inner: FetchLike, url: string | URL, stream: Headers, request: WireRequest): Promise<void> {
  const headers = new Headers(stream)
  headers.delete('last-event-id')
  headers.set('content-type', 'application/json')
  headers.set('accept', 'application/json, text/event-stream')
  const body = JSON.stringify(refusalOf(request))
  try {
    const response = await inner(url, { method: 'POST', headers, body })
    await response.body?.cancel()
  } catch {
    // A refusal that cannot be said is one all the same: the client never sees the request.
  }
}

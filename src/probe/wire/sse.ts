/** The GET stream, which belongs to no request: the events that come on it in a given time. */
import type { IncomingMessage } from 'node:http'
import type { StreamEvent } from '../../client/internal.ts'
import { mediaTypeOf } from '../../protocol/index.ts'
import { eventsIn, httpFactsOf } from './httpReply.ts'
import type { ProbeReply, HttpFacts } from './reply.ts'

export interface StreamReply {
  readonly kind: 'stream'
  readonly events: readonly StreamEvent[]
  readonly http: HttpFacts
}

export interface ListenLimits {
  readonly listenMs: number
  /** Stops after the first event for which this is true. */
  readonly until?: (event: StreamEvent) => boolean
}

/** How long the probe listens by default. */
export const LISTEN_MS = 50
const MAX_EVENTS = 100

export function isStream(response: IncomingMessage): boolean {
  return response.statusCode === 200 && mediaTypeOf(response.headers['content-type']) === 'text/event-stream'
}

/** Never rejects: however the stream ends, the events so far are the result. */
export async function listenTo(response: IncomingMessage, { listenMs, until }: ListenLimits): Promise<StreamReply> {
  const events: StreamEvent[] = []
  const timer = setTimeout(() => response.destroy(), listenMs)
  try {
    for await (const event of eventsIn(response)) {
      events.push(event)
      if (until?.(event) || events.length === MAX_EVENTS) break
    }
  } catch {
    response.destroy()
  } finally {
    clearTimeout(timer)
  }
  const lastEventId = events.findLast(({ id }) => id !== undefined)?.id
  return { kind: 'stream', events, http: { ...httpFactsOf(response), lastEventId } }
}

/**
 * In HTTP+SSE, the transport of 2024-11-05, the first event of the GET stream says where to POST for this session.
 * Undefined if there is no such event.
 */
export function sseEndpointIn(reply: StreamReply | ProbeReply): string | undefined {
  if (reply.kind !== 'stream') return undefined
  const endpoint = reply.events.find(isEndpointEvent)?.data.trim()
  return endpoint !== undefined && URL.canParse(endpoint, 'http://server') ? endpoint : undefined
}

export function isEndpointEvent({ event }: { readonly event?: string | undefined }): boolean {
  return event === 'endpoint'
}

/** A stream that belongs to no request: what came on it, in a given time. */
import type { IncomingMessage } from 'node:http'
import type { EventSourceMessage } from 'eventsource-parser'
import { mediaTypeOf } from '../../protocol/index.ts'
import { eventsIn, factsOf } from './httpReply.ts'
import type { Heard, HttpFacts } from './reply.ts'

export interface Listened {
  readonly kind: 'stream'
  readonly events: readonly EventSourceMessage[]
  readonly http: HttpFacts
}

export interface ListenOptions {
  readonly listenMs: number
  /** What is enough to hear. */
  readonly until?: (event: EventSourceMessage) => boolean
}

const MAX_EVENTS = 100

export function isStream(response: IncomingMessage): boolean {
  return response.statusCode === 200 && mediaTypeOf(response.headers['content-type']) === 'text/event-stream'
}

/** Never rejects: whatever ends the stream, what was heard was heard. */
export async function listenTo(response: IncomingMessage, { listenMs, until }: ListenOptions): Promise<Listened> {
  const events: EventSourceMessage[] = []
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
  return { kind: 'stream', events, http: { ...factsOf(response), lastEventId } }
}

/** HTTP+SSE, the transport of 2024-11-05: a GET opens a stream, whose first event says where to POST for this session. */

/** The address in the first event of such a stream; undefined where it is none. */
export function oldEndpoint(heard: Listened | Heard): string | undefined {
  if (heard.kind !== 'stream') return undefined
  const endpoint = heard.events.find(isEndpoint)?.data.trim()
  return endpoint !== undefined && URL.canParse(endpoint, 'http://server') ? endpoint : undefined
}

export function isEndpoint({ event }: { readonly event?: string | undefined }): boolean {
  return event === 'endpoint'
}

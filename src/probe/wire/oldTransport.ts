/** HTTP+SSE, the transport of 2024-11-05: a GET opens a stream, whose first event says where to POST for this session. */
import type { Heard } from './reply.ts'
import type { Listened } from './sse.ts'

/** The address in the first event of such a stream; undefined where it is none. */
export function oldEndpoint(heard: Listened | Heard): string | undefined {
  if (heard.kind !== 'stream') return undefined
  const endpoint = heard.events.find(isEndpoint)?.data.trim()
  return endpoint !== undefined && URL.canParse(endpoint, 'http://server') ? endpoint : undefined
}

export function isEndpoint({ event }: { readonly event?: string | undefined }): boolean {
  return event === 'endpoint'
}

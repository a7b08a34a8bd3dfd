/** Reads and changes the events of an HTTP response on their way to the transport. */
import { MAX_MESSAGE_BYTES, mediaTypeOf } from '../../protocol/index.ts'
import { EventParser, type StreamEvent } from './eventParser.ts'

/** The shortest pause before reconnecting that a server can ask for. */
const MIN_RETRY_MS = 100

export interface EventMapper {
  /** Gives the data to use in place of the event's. With undefined only the id of the event is passed on. */
  each(data: string, id: string | undefined, name: string | undefined): string | undefined
  /** Called after the last event. Gives the data of one more event, or undefined. */
  last?(): string | undefined
}

export function isEventStream(response: Response): boolean {
  return (
    response.ok && response.body !== null && mediaTypeOf(response.headers.get('content-type')) === 'text/event-stream'
  )
}

export function isJson(response: Response): boolean {
  return response.body !== null && mediaTypeOf(response.headers.get('content-type')) === 'application/json'
}

/** The same response with another body. */
export function withBody(response: Response, body: BodyInit | null, status: number = response.status): Response {
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  headers.delete('content-encoding')
  return new Response(body, { status, statusText: response.statusText, headers })
}

export function mapEvents(response: Response, mapper: EventMapper): Response {
  return withBody(response, response.body?.pipeThrough(eventTransform(mapper)) ?? null)
}

/** The same response. Where its body breaks off with an error, it just ends. */
export function endingQuietly(response: Response): Response {
  const reader = response.body?.getReader()
  if (reader === undefined) return response
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }) as const)
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
  return withBody(response, body)
}

function eventTransform({ each, last }: EventMapper): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  let out = ''
  const handlers = {
    onEvent: (event: StreamEvent) => {
      out += eventText({ ...event, data: each(event.data, event.id, event.event) ?? '' })
    },
    onRetry: (ms: number) => {
      out += `retry: ${Math.max(ms, MIN_RETRY_MS)}\n\n`
    },
    onComment: (comment: string) => {
      out += `:${comment}\n\n`
    },
  }
  const parser = new EventParser(handlers, MAX_MESSAGE_BYTES)
  const flushTo = (controller: TransformStreamDefaultController<Uint8Array>): void => {
    if (out !== '') controller.enqueue(encoder.encode(out))
    out = ''
  }
  return new TransformStream({
    transform(chunk, controller) {
      parser.feed(decoder.decode(chunk, { stream: true }))
      flushTo(controller)
    },
    flush(controller) {
      const data = last?.()
      if (data !== undefined) out += eventText({ data })
      flushTo(controller)
    },
  })
}

function eventText({ id, event, data }: Partial<StreamEvent> & Pick<StreamEvent, 'data'>): string {
  const lines = data.split('\n').map((line) => `data: ${line}\n`)
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}${lines.join('')}\n`
}

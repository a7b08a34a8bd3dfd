/** Reads and changes the events of an HTTP response on their way to the transport. */
import { MAX_MESSAGE_BYTES, mediaTypeOf } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'

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

/** The same response. If its body breaks off with an error, it ends without one. */
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

export interface StreamEvent {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: string
}

interface EventHandlers {
  onEvent(event: StreamEvent): void
  onRetry?(ms: number): void
  onComment?(comment: string): void
}

/** A carriage return, alone or before a line feed, ends a line like a line feed. */
const RETURNS = /\r\n?/g
const DIGITS = /^\d+$/

/**
 * Parses an event stream (WHATWG HTML, 9.2.6). Each line costs little, whatever a server writes: no search begins again
 * after every line end, and lines of unknown fields make no errors.
 */
export class EventParser {
  readonly #handlers: EventHandlers
  readonly #maxChars: number
  /** The beginning of a line. */
  #line = ''
  #endedInReturn = false
  #id: string | undefined
  #event: string | undefined
  #data: string | undefined

  /** `maxChars`: of an event. @default no limit, for bytes that have one */
  constructor(handlers: EventHandlers, maxChars = Number.POSITIVE_INFINITY) {
    this.#handlers = handlers
    this.#maxChars = maxChars
  }

  /** Takes text without a byte order mark. Throws if an event is too large. */
  feed(chunk: string): void {
    const text = this.#withLineFeeds(chunk)
    let from = 0
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
      const line = this.#line + text.slice(from, at)
      this.#line = ''
      from = at + 1
      if (line === '') this.#dispatch()
      else this.#take(line)
    }
    this.#line += text.slice(from)
    if (this.#line.length + (this.#data?.length ?? 0) > this.#maxChars)
      throw new ClientError('MESSAGE_UNREADABLE', `The server sent an event of more than ${this.#maxChars} characters.`)
  }

  #withLineFeeds(chunk: string): string {
    if (chunk === '') return ''
    const isSplit = this.#endedInReturn && chunk.startsWith('\n')
    this.#endedInReturn = chunk.endsWith('\r')
    const text = isSplit ? chunk.slice(1) : chunk
    return text.includes('\r') ? text.replace(RETURNS, '\n') : text
  }

  #take(line: string): void {
    const colon = line.indexOf(':')
    if (colon < 0) return this.#set(line, '')
    const value = line.slice(line.startsWith(' ', colon + 1) ? colon + 2 : colon + 1)
    if (colon === 0) this.#handlers.onComment?.(value)
    else this.#set(line.slice(0, colon), value)
  }

  #set(field: string, value: string): void {
    switch (field) {
      case 'data':
        this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
        break
      case 'event':
        this.#event = value === '' ? undefined : value
        break
      case 'id':
        if (!value.includes('\0')) this.#id = value
        break
      case 'retry':
        if (DIGITS.test(value)) this.#handlers.onRetry?.(Number(value))
    }
  }

  #dispatch(): void {
    const event = { id: this.#id, event: this.#event, data: this.#data }
    this.#id = this.#event = this.#data = undefined
    if (event.data !== undefined) this.#handlers.onEvent({ ...event, data: event.data })
  }
}

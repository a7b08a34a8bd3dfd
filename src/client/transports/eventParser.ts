/**
 * Reads the events of a stream (WHATWG HTML, 9.2.6). Each line costs little, whatever a server writes: no search begins
 * again after every line end, and lines of unknown fields make no errors.
 */
import { ClientError } from '../errors.ts'

export interface StreamEvent {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: string
}

export interface EventHandlers {
  onEvent(event: StreamEvent): void
  onRetry?(ms: number): void
  onComment?(comment: string): void
}

/** A carriage return, alone or before a line feed, ends a line like a line feed. */
const RETURNS = /\r\n?/g
const DIGITS = /^\d+$/

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

  /** Takes text without a byte order mark. Throws where an event is too large. */
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

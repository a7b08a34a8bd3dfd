/** Reads the events of one response. It may wait for the next one for hours, so it keeps no more than it has to. */
import { createParser, type EventSourceMessage, type EventSourceParser } from 'eventsource-parser'
import { eventBytes, MAX_MESSAGE_BYTES } from '../../../client/internal.ts'

export interface EventSink {
  event(event: EventSourceMessage): void
  /** The server says how long to wait before its stream is opened again. */
  retry(ms: number): void
  /** The response has ended, or broke off, or had an event that is too large. */
  end(isTooLarge: boolean): void
}

const LAST_ASCII = 0x7f
/** A stream may begin with it. Elsewhere it is a character like others. */
const BYTE_ORDER_MARK = '\ufeff'

export class EventReader {
  readonly #sink: EventSink
  readonly #parser: EventSourceParser
  readonly #sizeWith = eventBytes()
  /** Only while a character is divided between two chunks. */
  #decoder: TextDecoder | undefined
  #hasBegun = false

  constructor(sink: EventSink) {
    this.#sink = sink
    this.#parser = createParser({
      maxBufferSize: MAX_MESSAGE_BYTES,
      onEvent: (event) => sink.event(event),
      onRetry: (ms) => sink.retry(ms),
    })
  }

  /** False where an event is too large. */
  take(chunk: Buffer): boolean {
    if (this.#sizeWith(chunk) > MAX_MESSAGE_BYTES) return false
    this.#parser.feed(this.#withoutMark(this.#textOf(chunk)))
    return true
  }

  end(isTooLarge: boolean): void {
    this.#sink.end(isTooLarge)
  }

  #withoutMark(text: string): string {
    if (this.#hasBegun || text === '') return text
    this.#hasBegun = true
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
  }

  #textOf(chunk: Buffer): string {
    const isWhole = (chunk.at(-1) ?? 0) <= LAST_ASCII
    if (isWhole && this.#decoder === undefined) return chunk.toString()
    this.#decoder ??= new TextDecoder('utf-8', { ignoreBOM: true })
    const text = this.#decoder.decode(chunk, { stream: !isWhole })
    if (isWhole) this.#decoder = undefined
    return text
  }
}

/** Reads the events of one response. The next event may take hours, so it keeps as little as possible. */
import { eventBytes, EventParser, type MessageOverLimit, type StreamEvent } from '../../../client/internal.ts'

export interface EventSink {
  event(event: StreamEvent): void
  /** The server's delay before its stream is reopened. */
  retry(ms: number): void
  /** The response has ended, broken off, or had an event that is too large. */
  end(exceeded?: MessageOverLimit): void
}

const LAST_ASCII = 0x7f
/** A byte order mark may start a stream. Elsewhere it is an ordinary character. */
const BYTE_ORDER_MARK = '\ufeff'

export class EventReader {
  readonly #sink: EventSink
  readonly #maxBytes: number
  readonly #parser: EventParser
  readonly #sizeWith = eventBytes()
  /** Exists only while a character is split between two chunks. */
  #decoder: TextDecoder | undefined
  #hasBegun = false

  /** `maxBytes`: the maximum size of an event. */
  constructor(sink: EventSink, maxBytes: number) {
    this.#sink = sink
    this.#maxBytes = maxBytes
    this.#parser = new EventParser({
      onEvent: (event) => sink.event(event),
      onRetry: (ms) => sink.retry(ms),
    })
  }

  /** Returns false if an event is too large. */
  take(chunk: Buffer): boolean {
    if (this.#sizeWith(chunk) > this.#maxBytes) return false
    this.#parser.feed(this.#withoutMark(this.#textOf(chunk)))
    return true
  }

  end(exceeded?: MessageOverLimit): void {
    this.#sink.end(exceeded)
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

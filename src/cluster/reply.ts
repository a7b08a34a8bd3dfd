/** Replies to messages of other instances, and the reader of a streamed reply. */
import { isObject, type Json, parseJson } from '../protocol/index.ts'

/** A complete reply. */
export interface MessageReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** A JSON message. */
  readonly body?: string
}

/** A streamed reply. */
export interface ReplySink {
  /** Adds these headers to the reply, streamed or complete. */
  setHeaders(headers: Readonly<Record<string, string>>): void
  /** Starts the reply. */
  open(headers: Readonly<Record<string, string>>): void
  write(text: string): void
  end(): void
  /** Calls the listener once when the receiver disconnects before `end`. */
  onDisconnect(listener: () => void): void
  readonly disconnected: boolean
}

export function jsonReply(value: object): MessageReply {
  return { status: 200, body: JSON.stringify(value) }
}

/** The event stream of another instance's reply, as messages. */
export class ReplyStream {
  readonly #reader: ReadableStreamDefaultReader<string> | undefined

  constructor(response: Response) {
    this.#reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  }

  /** Rejects if the stream breaks off. */
  async *messages(): AsyncGenerator<Json, void> {
    const splitter = new EventSplitter()
    for (;;) {
      const chunk = await this.#reader?.read()
      if (chunk?.value === undefined) return
      for (const event of splitter.take(chunk.value)) {
        const message = messageIn(event)
        if (message !== undefined) yield message
      }
    }
  }

  /** Ends the stream; `messages` ends with it. */
  cancel(): void {
    void this.#reader?.cancel().catch(() => {})
  }
}

/** Parses an event of another instance: a data line, or a comment that keeps the connection open. */
function messageIn(event: string): Json | undefined {
  const message: unknown = event.startsWith('data: ') ? parseJson(event.slice('data: '.length), Infinity) : undefined
  return isObject(message) ? message : undefined
}

const BREAK = '\n\n'

/** Splits the chunks of a stream into events. */
class EventSplitter {
  /** The start of an event that has not ended. */
  #rest = ''

  /** Returns the events that end in this chunk. */
  take(chunk: string): readonly string[] {
    this.#rest += chunk
    // JSON has no line breaks, so most chunks of a long event need not be joined to look for its end.
    if (!chunk.includes('\n')) return []
    const events = this.#rest.split(BREAK)
    this.#rest = events.pop() ?? ''
    return events
  }
}

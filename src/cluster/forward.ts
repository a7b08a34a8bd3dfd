/**
 * Forwards messages to the owner of a thing. A message makes one hop: its receiver handles it, or replies with the new
 * owner, and never forwards it. A reply is complete or streamed.
 */
import { isObject, type Json, parseJson } from '../protocol/index.ts'
import { type Instance, readInstance, writeInstance } from './instance.ts'
import type { Members } from './members.ts'
import { discard, type Messenger } from './messenger.ts'

export type Forwarded =
  /** The body of the response may be a stream. */
  | { readonly kind: 'answered'; readonly response: Response }
  /** Another instance owns the thing now. */
  | { readonly kind: 'moved'; readonly to: Instance }
  /** The instance is gone, or no longer owns the thing. It did not handle the message. */
  | { readonly kind: 'gone'; readonly why: string }
  /** The instance does not answer, and may have handled the message. */
  | { readonly kind: 'silent'; readonly why: string }

export interface ForwardOptions {
  /** Whether the message must not be handled twice, so that it is sent only once. @default false */
  readonly isOnce?: boolean
}

const MOVED_HEADER = 'pannier-moved'
const GONE_HEADER = 'pannier-gone'

/** The reply of an instance that has handed the thing off. */
export function movedReply(to: Instance): MessageReply {
  return { status: 409, headers: { [MOVED_HEADER]: JSON.stringify(writeInstance(to)) } }
}

/** The reply of an instance that does not have the thing, and has not handled the message. */
export function goneReply(why: string): MessageReply {
  return { status: 410, headers: { [GONE_HEADER]: why } }
}

export class Forwarding {
  readonly #messenger: Pick<Messenger, 'send'>
  readonly #members: Members

  constructor(messenger: Pick<Messenger, 'send'>, members: Members) {
    this.#messenger = messenger
    this.#members = members
  }

  async forward(to: Instance, message: Json, { isOnce = false }: ForwardOptions = {}): Promise<Forwarded> {
    const wasLost = this.#members.isLost(to.id)
    const delivery = await this.#messenger.send(to, message, { wasLost, isOnce })
    if (delivery.kind !== 'delivered') {
      this.#members.lose(to, delivery.kind === 'gone' ? delivery.successor : undefined)
      return { kind: delivery.kind, why: delivery.why }
    }
    this.#members.meetAgain(to)
    const { response } = delivery
    const moved = response.headers.get(MOVED_HEADER)
    const owner = moved === null ? undefined : readInstance(JSON.parse(moved))
    const gone = response.headers.get(GONE_HEADER)
    if (owner === undefined && gone === null) return { kind: 'answered', response }
    await discard(response)
    return owner === undefined ? { kind: 'gone', why: gone ?? '' } : { kind: 'moved', to: owner }
  }

  /** The JSON object of an instance's answer; undefined if there is none. */
  async ask(to: Instance, message: Json): Promise<Json | undefined> {
    const forwarded = await this.forward(to, message)
    if (forwarded.kind !== 'answered') return undefined
    const reply: unknown = await forwarded.response.json().catch(() => undefined)
    return isObject(reply) ? reply : undefined
  }
}

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

  /** The messages; rejects if the stream breaks off. */
  async *messages(): AsyncGenerator<Json, void> {
    const splitter = new LineSplitter()
    for (;;) {
      const chunk = await this.#reader?.read()
      if (chunk?.value === undefined) return
      for (const line of splitter.take(chunk.value)) {
        const message = messageIn(line)
        if (message !== undefined) yield message
      }
    }
  }

  /** Ends the stream; `messages` ends with it. */
  cancel(): void {
    void this.#reader?.cancel().catch(() => {})
  }
}

const DATA = 'data: '

/** Parses a line of another instance: a message, a comment that keeps the connection open, or the end of an event. */
function messageIn(line: string): Json | undefined {
  const message: unknown = line.startsWith(DATA) ? parseJson(line.slice(DATA.length), Infinity) : undefined
  return isObject(message) ? message : undefined
}

/** Splits the chunks of a stream into lines. A message is one line. */
class LineSplitter {
  /** The start of a line that has not ended. */
  #rest = ''

  /** Returns the lines that end in this chunk. */
  take(chunk: string): readonly string[] {
    this.#rest += chunk
    // A chunk without a line end is not joined, because a long line comes in many chunks.
    if (!chunk.includes('\n')) return []
    const lines = this.#rest.split('\n')
    this.#rest = lines.pop() ?? ''
    return lines
  }
}

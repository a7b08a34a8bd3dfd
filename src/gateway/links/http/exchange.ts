/**
 * One HTTP request of a session and its response: first status and headers, then events as they come, or the text.
 * Redirects are followed only within the server's origin, because headers, tokens and sessions belong to that server.
 */
import type { IncomingHttpHeaders } from 'node:http'
import {
  COUNTED,
  eventBytes,
  EventParser,
  MessageOverLimit,
  readPaced,
  type SizeCounter,
  type StreamEvent,
  totalBytes,
} from '../../../client/internal.ts'
import { mediaTypeOf } from '../../../protocol/index.ts'
import type { AnswerReceiver, Upstream, UpstreamRequest } from '../../upstreams/upstreams.ts'

export interface ExchangeRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly headers: Iterable<readonly [string, string]>
  readonly body?: string
  /** Receives the events of a streamed response. Without it the response is read as text. */
  readonly sink?: EventSink | undefined
  /** Receives the exchange, which can be cancelled; called again with a new one after a login. */
  readonly onOpen?: ((exchange: Exchange) => void) | undefined
  /** Whether the request was cancelled, and is not sent again after a login. @default never */
  readonly isCancelled?: (() => boolean) | undefined
  /** Called synchronously when the response begins: its first event may be in the same chunk. */
  readonly onReply?: ((reply: Reply) => void) | undefined
}

/** The head of a response. */
export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The path that the request was redirected to. */
  readonly path: string | undefined
  /** Whether its events go to the sink. */
  readonly isStream: boolean
  /** The whole body, if it is no stream. */
  text(): Promise<string>
}

/** The target of a request: one address of a server, or all of them. */
export interface ExchangeTarget extends Pick<Upstream, 'send' | 'maxMessageBytes'> {
  /** Redirects are followed from here. Undefined for several addresses, which have no redirects. */
  readonly url?: string
}

const MAX_REDIRECTS = 3
/** The redirects that keep the method. All others turn a POST into a GET. */
const REDIRECTS: ReadonlySet<number> = new Set([307, 308])

export class Exchange implements AnswerReceiver {
  readonly #target: ExchangeTarget
  readonly #all: Set<Exchange>
  /** Cleared when the response has begun. */
  #opening: { readonly request: ExchangeRequest; readonly settle: PromiseWithResolvers<Reply> } | undefined
  #sent: UpstreamRequest | undefined
  #redirects = 0
  #path: string | undefined
  #events: EventReader | undefined
  #text: TextBody | undefined
  #isOver = false
  /** Whether the server may have got the request, after a failure. */
  wasSent = true

  constructor(target: ExchangeTarget, all: Set<Exchange>) {
    this.#target = target
    this.#all = all
  }

  /** Sends the request. Rejects if there is no response. */
  open(request: ExchangeRequest): Promise<Reply> {
    const settle = Promise.withResolvers<Reply>()
    this.#all.add(this)
    this.#opening = { request, settle }
    request.onOpen?.(this)
    this.#send(request)
    return settle.promise
  }

  begin(status: number, headers: IncomingHttpHeaders): void {
    if (this.#opening === undefined) return
    const { request, settle } = this.#opening
    const path = REDIRECTS.has(status) ? this.#pathOf(headers.location) : undefined
    if (path !== undefined && this.#redirects++ < MAX_REDIRECTS) {
      this.#sent?.cancel()
      this.#path = path
      return this.#send(request)
    }
    this.#opening = undefined
    const isStream = isOk(status) && mediaTypeOf(headers['content-type']) === 'text/event-stream'
    const reply = this.#read({ status, headers, path: this.#path }, isStream ? request.sink : undefined)
    request.onReply?.(reply)
    settle.resolve(reply)
  }

  data(chunk: Buffer): void {
    readPaced(this.#sent, () => this.#take(chunk))
  }

  #take(chunk: Buffer): void {
    const taken = this.#events?.take(chunk) ?? this.#text?.take(chunk)
    if (taken === false)
      this.#end(new MessageOverLimit(`The message is longer than ${this.#target.maxMessageBytes} bytes, ${COUNTED}.`))
  }

  end(): void {
    this.#end(undefined)
  }

  fail(error: Error, wasSent: boolean): void {
    this.wasSent = wasSent
    this.#end(error)
  }

  /** Cancels it. The sink gets nothing more. */
  cancel(): void {
    this.#events = undefined
    this.#end(new Error('The connection was closed.'))
  }

  #send({ method, headers, body }: ExchangeRequest): void {
    const path = this.#path
    const flat: string[] = []
    for (const [name, value] of headers) flat.push(name, value)
    const message = {
      ...(method !== 'POST' && { method }),
      ...(path !== undefined && { path }),
      ...(body !== undefined && { body }),
      headers: flat,
    }
    this.#sent = this.#target.send(message, this)
    // Sending may have failed synchronously.
    if (this.#isOver) this.#sent.cancel()
  }

  #read(head: Omit<Reply, 'isStream' | 'text'>, sink: EventSink | undefined): Reply {
    if (sink !== undefined) {
      this.#events = new EventReader(sink, this.#target.maxMessageBytes)
      return { ...head, isStream: true, text: () => Promise.resolve('') }
    }
    const body = new TextBody(this.#target.maxMessageBytes)
    this.#text = body
    return { ...head, isStream: false, text: () => body.whole }
  }

  #pathOf(location: string | undefined): string | undefined {
    const { url: from } = this.#target
    if (location === undefined || from === undefined || !URL.canParse(location, from)) return undefined
    const { origin, pathname, search } = new URL(location, from)
    return origin === new URL(from).origin ? pathname + search : undefined
  }

  #end(error: Error | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#sent?.cancel()
    this.#all.delete(this)
    this.#opening?.settle.reject(error ?? new Error('There was no response.'))
    this.#opening = undefined
    this.#text?.end(error)
    this.#events?.end(error)
  }
}

/** A body that is no event stream. */
class TextBody {
  readonly #chunks: Buffer[] = []
  readonly #sizeWith: SizeCounter = totalBytes()
  readonly #whole = Promise.withResolvers<string>()
  readonly whole = this.#whole.promise
  readonly #maxBytes: number

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
    this.whole.catch(() => {}) // perhaps it is never read
  }

  /** Returns false if it is too large. */
  take(chunk: Buffer): boolean {
    this.#chunks.push(chunk)
    return this.#sizeWith(chunk) <= this.#maxBytes
  }

  end(error: Error | undefined): void {
    if (error === undefined) this.#whole.resolve(new TextDecoder().decode(Buffer.concat(this.#chunks)))
    else this.#whole.reject(error)
  }
}

export function isOk(status: number): boolean {
  return status >= 200 && status < 300
}

export interface EventSink {
  event(event: StreamEvent): void
  /** The server's delay before its stream is reopened. */
  retry(ms: number): void
  /** The response has ended. `error`: it broke off, or had an event that is too large. */
  end(error?: Error): void
}

const LAST_ASCII = 0x7f
/** A byte order mark may start a stream. Elsewhere it is an ordinary character. */
const BYTE_ORDER_MARK = '\ufeff'

/** Reads the events of one response. The next event may take hours, so it keeps as little as possible. */
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

  end(error?: Error): void {
    this.#sink.end(error)
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

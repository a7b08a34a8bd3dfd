/** Answers as a web-standard `Response`: a whole reply, or a stream of this server's text or another server's bytes. */
import { unref } from '../../protocol/index.ts'
import {
  type AnswerHead,
  type ByteSink,
  type HostSink,
  type HttpReply,
  MAX_UNREAD_BYTES,
  readWithinMs,
} from './exchange.ts'

function toResponse({ status, headers, type, body }: HttpReply): Response {
  if (body === undefined) return new Response(null, { status, ...(headers !== undefined && { headers }) })
  const media = type === undefined ? JSON_HEADERS : { 'content-type': type }
  return new Response(body, { status, headers: headers === undefined ? media : { ...media, ...headers } })
}

const JSON_HEADERS = { 'content-type': 'application/json' }

export class FetchSink implements HostSink {
  readonly #resolve: (response: Response) => void
  readonly #listeners: (() => void)[] = []
  readonly #encoder = new TextEncoder()
  readonly #signal: AbortSignal
  /** A Request does not have the address of its client; a proxy may report it. */
  address: string | undefined
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #disconnected = false
  #headers: Readonly<Record<string, string>> | undefined
  #ended = false
  #writtenBytes = 0
  #unreadTimer: ReturnType<typeof setTimeout> | undefined

  constructor(resolve: (response: Response) => void, signal: AbortSignal) {
    this.#resolve = resolve
    this.#signal = signal
  }

  get disconnected(): boolean {
    return this.#disconnected || (this.#signal.aborted && !this.#ended)
  }

  setHeaders(headers: Readonly<Record<string, string>>): void {
    this.#headers = headers
  }

  /** Answers with a whole reply instead of a stream. */
  reply(reply: HttpReply): void {
    this.#respond(toResponse(reply))
  }

  #respond(response: Response): void {
    for (const [name, value] of Object.entries(this.#headers ?? {})) response.headers.set(name, value)
    this.#resolve(response)
  }

  /** A stream that is open stays as it is. */
  open(headers: Readonly<Record<string, string>>): void {
    if (this.#controller !== undefined) return
    const source = {
      start: (controller: ReadableStreamDefaultController<Uint8Array>): void => {
        this.#controller = controller
      },
      cancel: () => this.#disconnect(),
    }
    const body = new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }))
    this.#resolve(new Response(body, { status: 200, headers: { ...headers, ...this.#headers } }))
  }

  write(text: string): void {
    if (this.#controller === undefined || this.disconnected || this.#ended) return
    if ((this.#controller.desiredSize ?? 0) <= 0) return this.#giveUp()
    const chunk = this.#encoder.encode(text)
    this.#controller.enqueue(chunk)
    this.#writtenBytes += chunk.length
    if (this.#unreadTimer === undefined && this.#unreadBytes > 0) this.#limitUnread()
  }

  /** The bytes in the queue of the stream. */
  get #unreadBytes(): number {
    const room = this.#controller?.desiredSize ?? MAX_UNREAD_BYTES
    // The desired size of a closed or cancelled stream is 0.
    return room === 0 && (this.#ended || this.#disconnected) ? 0 : MAX_UNREAD_BYTES - room
  }

  /** Disconnects a reader that stalls, also when the answer is complete. */
  #limitUnread(): void {
    const unread = this.#unreadBytes
    const readBytes = this.#writtenBytes - unread
    const look = (): void => {
      this.#unreadTimer = undefined
      if (this.#unreadBytes === 0) return
      if (this.#writtenBytes - this.#unreadBytes > readBytes) this.#limitUnread()
      else this.#giveUp()
    }
    this.#unreadTimer = unref(setTimeout(look, readWithinMs(unread)))
  }

  #giveUp(): void {
    this.#controller?.error(new Error('The stream was not read.'))
    this.#disconnect()
  }

  end(): void {
    if (this.#ended || this.#disconnected) return
    this.#ended = true
    this.#controller?.close()
  }

  openBytes(head: AnswerHead, onDrain: () => void): ByteSink {
    return new FetchByteSink(head, {
      respond: (response) => this.#respond(response),
      onDrain,
      onCancel: () => this.#disconnect(),
      onEnd: () => {
        this.#ended = true
      },
    })
  }

  onDisconnect(listener: () => void): void {
    if (this.disconnected) return listener()
    if (this.#listeners.length === 0) this.#signal.addEventListener('abort', () => this.#disconnect(), { once: true })
    this.#listeners.push(listener)
  }

  #disconnect(): void {
    if (this.#disconnected || this.#ended) return
    this.#disconnected = true
    for (const listener of this.#listeners) listener()
  }
}

/** The maximum number of unread bytes. Above it, the server behind has to wait. */
const HELD_BYTES = 65_536
/** Timeout of a reader that stalls. */
const UNREAD_MS = readWithinMs(HELD_BYTES)
/** Statuses whose answers have no body. */
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304])

interface FetchByteOptions {
  readonly respond: (response: Response) => void
  readonly onDrain: () => void
  readonly onCancel: () => void
  readonly onEnd: () => void
}

/** The bytes of another server's answer in a `Response`. */
class FetchByteSink implements ByteSink {
  readonly #head: AnswerHead
  readonly #options: FetchByteOptions
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #isWaiting = false
  #unread: ReturnType<typeof setTimeout> | undefined
  #isOver = false

  constructor(head: AnswerHead, options: FetchByteOptions) {
    this.#head = head
    this.#options = options
  }

  flush(): void {
    if (this.#controller !== undefined) return
    const source = {
      start: (controller: ReadableStreamDefaultController<Uint8Array>): void => {
        this.#controller = controller
      },
      pull: () => this.#drain(),
      cancel: () => {
        this.#stop()
        this.#options.onCancel()
      },
    }
    this.#respond(new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: HELD_BYTES })))
  }

  write(chunk: Buffer): boolean {
    if (this.#isOver) return true
    this.flush()
    this.#controller?.enqueue(chunk)
    if ((this.#controller?.desiredSize ?? 1) > 0) return true
    this.#isWaiting = true
    this.#unread ??= unref(setTimeout(() => this.abort(), UNREAD_MS))
    return false
  }

  end(last?: Buffer): void {
    if (this.#isOver) return
    this.#options.onEnd()
    if (this.#controller === undefined) return this.#respond(last === undefined ? null : new Uint8Array(last))
    if (last !== undefined) this.#controller.enqueue(last)
    this.#controller.close()
    this.#stop()
  }

  abort(): void {
    if (this.#isOver) return
    this.flush()
    this.#controller?.error(new Error('The answer was broken off.'))
    this.#stop()
    this.#options.onCancel()
  }

  #drain(): void {
    clearTimeout(this.#unread)
    this.#unread = undefined
    if (!this.#isWaiting) return
    this.#isWaiting = false
    this.#options.onDrain()
  }

  #stop(): void {
    this.#isOver = true
    clearTimeout(this.#unread)
  }

  #respond(body: BodyInit | null): void {
    const { status, headers } = this.#head
    const pairs = headers.flatMap((name, at): [string, string][] =>
      at % 2 === 0 ? [[name, headers[at + 1] ?? '']] : [],
    )
    this.#options.respond(new Response(NO_BODY.has(status) ? null : body, { status, headers: pairs }))
  }
}

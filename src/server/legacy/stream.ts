/**
 * A stream of the session era. It outlives its connection: what was sent is kept for a while, and a client that lost
 * the connection comes back with the last event id it saw and gets the rest, at this instance or, for what is yet to
 * come, at another.
 *
 * Event numbers only grow, also from one instance to the next: whoever goes on with a stream moves it past every number
 * the one before may have used, so that nothing new looks like something the client has seen.
 */
import type { Sink } from '../http/exchange.ts'
import { KEEP_ALIVE, KEEP_ALIVE_MS, SSE_HEADERS, sseEventWithId, ssePriming, sseRetry } from '../http/sse.ts'

const MAX_KEPT = 1000
const MAX_STREAM_CHARS = 1024 * 1024
// What a message costs beside its text, so that many short ones count too.
const CHARS_EACH = 100
const NUMBERS_EACH = 1_000_000

export interface LegacyStreamOptions {
  /** Sealed, so that any instance can tell whose it is. */
  readonly name: string
  /** Whether the client knows events without data (2025-11-25). */
  readonly primes: boolean
  /** The number of the last event that was sent elsewhere. */
  readonly after?: number
  /** Told by how many characters more, or fewer, the stream now keeps. */
  readonly onKept?: (chars: number) => void
}

export class LegacyStream {
  readonly name: string
  readonly #primes: boolean
  readonly #kept: { readonly number: number; readonly message: string }[] = []
  readonly #onKept: (chars: number) => void
  #keptChars = 0
  #number: number
  #sink: Sink | undefined
  #keepAlive: ReturnType<typeof setInterval> | undefined
  #finished = false
  /** Told when the stream is given up although its call goes on. */
  onEvicted: () => void = () => {}

  constructor({ name, primes, after = 0, onKept = () => {} }: LegacyStreamOptions) {
    this.name = name
    this.#primes = primes
    this.#number = after
    this.#onKept = onKept
  }

  /** The number of the last event. */
  get position(): number {
    return this.#number
  }

  get connected(): boolean {
    return this.#sink !== undefined
  }

  /** Whether nothing is left for a client that has seen event `after`. */
  isOver(after: number): boolean {
    return this.#finished && this.#kept.every(({ number }) => number <= after)
  }

  /** This instance goes on with a stream that another one had brought to `position`. */
  continueFrom(position: number): void {
    this.#number = Math.max(this.#number, (Math.floor(position / NUMBERS_EACH) + 1) * NUMBERS_EACH)
  }

  /** Sends what came after event `after` on this connection, and from now on everything. */
  connect(sink: Sink, after: number): void {
    if (sink.disconnected) return
    this.#disconnect()
    this.#sink = sink
    sink.open(SSE_HEADERS)
    if (this.#primes && after === 0) sink.write(ssePriming(this.#eventId(0)))
    for (const { number, message } of this.#kept) {
      if (number > after) sink.write(sseEventWithId(this.#eventId(number), message))
    }
    if (this.#finished) return this.#disconnect()
    this.#keepAlive = setInterval(() => sink.write(KEEP_ALIVE), KEEP_ALIVE_MS)
    this.#keepAlive.unref()
    sink.onDisconnect(() => {
      if (this.#sink === sink) this.#forget()
    })
  }

  send(message: string): void {
    if (this.#finished) return
    this.#number++
    this.#sink?.write(sseEventWithId(this.#eventId(this.#number), message))
    this.#keep(message)
  }

  finish(message?: string): void {
    if (message !== undefined) this.send(message)
    this.#finished = true
    this.onEvicted = () => {} // what is kept after the end must not keep the call too
    this.#disconnect()
  }

  /** Nobody can come back for what was sent; what is yet to come is kept again. */
  forgetKept(): void {
    this.#kept.length = 0
    this.#count(-this.#keptChars)
  }

  /** There is no room for the stream any more, so there is none for what it would still carry. */
  evict(): void {
    const tell = this.onEvicted
    this.finish()
    this.forgetKept()
    tell()
  }

  /** Lets the connection go; the stream goes on, and the client comes back for it. Older clients would not know how. */
  hangUp(retryMs: number): void {
    if (!this.#primes) return
    this.#sink?.write(sseRetry(retryMs))
    this.#disconnect()
  }

  /** Gives the connection to somebody else, who goes on with it. */
  detach(): Sink | undefined {
    const sink = this.#sink
    this.#forget()
    return sink
  }

  #keep(message: string): void {
    this.#kept.push({ number: this.#number, message })
    let chars = message.length + CHARS_EACH
    while (this.#kept.length > MAX_KEPT || (this.#keptChars + chars > MAX_STREAM_CHARS && this.#kept.length > 1)) {
      chars -= (this.#kept.shift()?.message.length ?? 0) + CHARS_EACH
    }
    this.#count(chars)
  }

  #count(chars: number): void {
    this.#keptChars += chars
    this.#onKept(chars)
  }

  #disconnect(): void {
    this.#sink?.end()
    this.#forget()
  }

  #forget(): void {
    clearInterval(this.#keepAlive)
    this.#sink = undefined
  }

  #eventId(number: number): string {
    return `${this.name}:${number}`
  }
}

/**
 * A resumable stream of the session era. It outlives its connection: messages are kept for a while, and a client that
 * lost the connection reconnects with its last event id and gets the rest. At another instance it gets only later
 * messages.
 *
 * Event numbers only increase, also from one instance to the next: an instance that continues a stream starts above all
 * numbers that the previous one can have used, so that no new message has a number that the client has seen.
 */
import { unref } from '../../../protocol/index.ts'
import type { Sink } from '../../http/exchange.ts'
import { KEEP_ALIVE, KEEP_ALIVE_MS, SSE_HEADERS, sseEventWithId, ssePriming, sseRetry } from '../../http/sse.ts'

const MAX_KEPT = 1000
const MAX_STREAM_CHARS = 1024 * 1024
// The cost of a message beside its text, so that many short messages count as well.
const CHARS_EACH = 100
const NUMBERS_EACH = 1_000_000
// Instances that resume the same stream after crashes number their events in ranges of their own.
const RANGES = 1_000_000

export interface LegacyStreamOptions {
  /** A seal, by which any instance can check the stream's owner. */
  readonly name: string
  /** Whether the client knows events without data (2025-11-25). */
  readonly primes: boolean
  /** The number of the last event that another instance sent. */
  readonly after?: number
  /** The question that its client still has to answer. */
  readonly owed?: string | undefined
  /** Called when the stream is connected, disconnected or finished, or its kept characters change. */
  readonly onChange?: () => void
}

export class LegacyStream {
  readonly name: string
  readonly #primes: boolean
  readonly #kept: { readonly number: number; readonly message: string }[] = []
  readonly #onChange: () => void
  #keptChars = 0
  #number: number
  /** The number after which this instance's numbers begin. */
  #since: number
  #owed: string | undefined
  #sink: Sink | undefined
  #keepAlive: ReturnType<typeof setInterval> | undefined
  #finished = false
  #isUnseen = false
  /** The last progress that was sent. */
  progress: number | undefined
  /** Called when the stream is evicted while its call is still running. */
  onEvicted: () => void = () => {}

  constructor({ name, primes, after = 0, owed, onChange = () => {} }: LegacyStreamOptions) {
    this.name = name
    this.#primes = primes
    this.#number = after
    this.#since = after
    this.#owed = owed
    this.#onChange = onChange
  }

  /** The number of the last event. */
  get position(): number {
    return this.#number
  }

  /** Whether the stream is complete and no client has come back since a message was sent without a connection. */
  get isUnseen(): boolean {
    return this.#finished && this.#isUnseen
  }

  /** The number of characters kept for a client that comes back. */
  get keptChars(): number {
    return this.#keptChars
  }

  get finished(): boolean {
    return this.#finished
  }

  get connected(): boolean {
    return this.#sink !== undefined
  }

  /** Whether nothing is left for a client that has seen event `after`. */
  isOver(after: number): boolean {
    const seen = this.#seen(after)
    return this.#finished && this.#kept.every(({ number }) => number <= seen)
  }

  /**
   * Sets the question from whose answer any instance could resume the call. Event ids name it, because the instance
   * that the client comes back to knows nothing else. When the answer was taken, an event says so at once: the next one
   * may take long.
   */
  noteOwed(question: string | undefined): void {
    const isOver = this.#owed !== undefined && question === undefined
    this.#owed = question
    if (isOver && this.#primes) this.#sink?.write(ssePriming(this.#eventId(this.#number)))
  }

  /** Continues a stream whose last event at another instance had the number `position`. */
  continueFrom(position: number): void {
    const range = Math.floor(position / NUMBERS_EACH) + 1 + Math.floor(Math.random() * RANGES)
    this.#number = Math.max(this.#number, range * NUMBERS_EACH)
    this.#since = this.#number
  }

  /** The last of this stream's events that a client has seen. A later number is of an instance that resumed the stream as well. */
  #seen(after: number): number {
    return after > this.#number && this.#number > this.#since ? this.#since : after
  }

  /** Sends the messages after the event at `position` on this connection, and all later ones. */
  connect(sink: Sink, position: number): void {
    if (sink.disconnected) return
    const after = this.#seen(position)
    this.#disconnect()
    this.#sink = sink
    this.#onChange()
    sink.open(SSE_HEADERS)
    // Also after a reconnect: the official clients forget their position when a connection brings no event.
    if (this.#primes) sink.write(ssePriming(this.#eventId(after)))
    for (const { number, message } of this.#kept) {
      if (number > after) sink.write(sseEventWithId(this.#eventId(number), message))
    }
    this.#isUnseen = false
    if (this.#finished) return this.#disconnect()
    this.#keepAlive = unref(setInterval(() => sink.write(KEEP_ALIVE), KEEP_ALIVE_MS))
    sink.onDisconnect(() => {
      if (this.#sink === sink) this.#forget()
    })
  }

  /** Sends messages in one write: a connection that breaks brings all of them or none. */
  send(...messages: readonly string[]): void {
    if (this.#finished) return
    this.#isUnseen ||= this.#sink === undefined
    let events = ''
    for (const message of messages) {
      this.#number++
      events += sseEventWithId(this.#eventId(this.#number), message)
      this.#keep(message)
    }
    this.#sink?.write(events)
  }

  finish(message?: string): void {
    if (message !== undefined) this.send(message)
    this.#finished = true
    this.onEvicted = () => {} // the stream is kept after its end and must not hold the call in memory
    this.#disconnect()
  }

  /** Ends without a response: the client has cancelled the request. */
  abandon(): void {
    this.finish()
    this.#isUnseen = false
  }

  /** Drops the kept messages; later ones are kept again. */
  forgetKept(): void {
    this.#kept.length = 0
    this.#count(-this.#keptChars)
  }

  /** Ends the stream and drops its messages, because there are too many streams. */
  evict(): void {
    const tell = this.onEvicted
    this.finish()
    this.forgetKept()
    tell()
  }

  /** Closes the connection but not the stream; the client reconnects. Clients before 2025-11-25 do not support that. */
  hangUp(retryMs: number): void {
    if (!this.#primes) return
    this.#sink?.write(sseRetry(retryMs))
    this.#disconnect()
  }

  /** The messages that a client may not have seen when it comes back. */
  contents(): { position: number; kept: [number, string][]; progress: number | null } {
    const kept = this.#kept.map(({ number, message }): [number, string] => [number, message])
    return { position: this.#number, kept, progress: this.progress ?? null }
  }

  /** Adds the contents of a stream of another instance. */
  resume(position: number, kept: readonly (readonly [number, string])[]): void {
    for (const [number, message] of kept) {
      if (number <= this.#number) continue // the client has seen it, or the stream was handed off twice
      this.#number = number
      this.#sink?.write(sseEventWithId(this.#eventId(number), message)) // for a client that already waits here
      this.#keep(message)
    }
    this.#number = Math.max(this.#number, position)
    this.#isUnseen = this.#sink === undefined
  }

  /** Detaches the connection, which another owner continues. */
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
    this.#onChange()
  }

  #disconnect(): void {
    this.#sink?.end()
    this.#forget()
  }

  #forget(): void {
    clearInterval(this.#keepAlive)
    this.#sink = undefined
    this.#onChange()
  }

  #eventId(number: number): string {
    return eventId({ name: this.name, after: number, owed: this.#owed })
  }
}

/**
 * Event ids: the sealed name of the stream, the number of the event, and the question that the client still has to
 * answer.
 */
export interface EventPlace {
  readonly name: string
  readonly after: number
  /**
   * The question that the client had to answer at this event, if any instance could resume the call from that answer.
   */
  readonly owed: string | undefined
}

const EVENT_ID = /^(?<name>[^:]*):(?<digits>\d{1,15})(?::(?<owed>\w{1,64}))?$/

export function eventId({ name, after, owed }: EventPlace): string {
  return `${name}:${after}${owed === undefined ? '' : `:${owed}`}`
}

/** Returns undefined if it is no event id. The sealed name identifies the server that issued it. */
export function readEventId(id: string): EventPlace | undefined {
  const { name, digits, owed } = EVENT_ID.exec(id)?.groups ?? {}
  return name === undefined ? undefined : { name, after: Number(digits), owed }
}

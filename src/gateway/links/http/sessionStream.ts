/**
 * A stream of messages of a server: the response to one request, or what belongs to none. It outlives its connections. The
 * response to a request goes on where the server has named an event, from that event; the other one is opened again.
 */
import type { EventSourceMessage } from 'eventsource-parser'
import { backoffMs, isObject, type Json, parseJson, type RequestId } from '../../../protocol/index.ts'
import type { EventSink } from './eventReader.ts'

export interface StreamOwner {
  take(message: Json): void
  /** Opens a stream again, after the event of this id. */
  reopen(stream: SessionStream, lastEventId: string | undefined): Promise<Reopening>
  /** The stream of a request is over. */
  ended(id: RequestId): void
  /** Runs it after a while, unless the connection is closed by then. */
  later(ms: number, work: () => void): void
}

/** What became of an attempt: the stream is open, it failed, or the server does not do that. */
export type Reopening = 'open' | 'failed' | 'refused'

/** The request that a stream answers. */
export interface StreamedRequest {
  readonly id: RequestId
  /** The stream has ended without the response, and does not go on. */
  readonly onEnd: (() => void) | undefined
}

/** What the events come on. */
interface StreamConnection {
  /** Ends it. The stream is told nothing more. */
  cancel(): void
}

/** The same as those of the official SDK. */
const PAUSE = { firstMs: 1000, maxMs: 30_000, factor: 1.5 }
const MAX_FAILURES = 2
/** What a server may ask for in place of that. */
const ASKED_PAUSE = { leastMs: 100, mostMs: 600_000 }

/** An id that cannot stand in a header is none to go on from. */
const IN_HEADER = /^[\x20-\x7e]+$/

export class SessionStream implements EventSink {
  readonly #owner: StreamOwner
  readonly #request: StreamedRequest | undefined
  #lastEventId: string | undefined
  #pauseMs: number | undefined
  #isAbandoned = false
  #connection: StreamConnection | undefined

  constructor(owner: StreamOwner, request?: StreamedRequest) {
    this.#owner = owner
    this.#request = request
  }

  event({ id, event, data }: EventSourceMessage): void {
    if (id !== undefined && IN_HEADER.test(id)) this.#lastEventId = id
    const message = event === undefined || event === 'message' ? parseJson(data) : undefined
    if (isObject(message)) this.#owner.take(message)
  }

  retry(ms: number): void {
    this.#pauseMs = Math.min(Math.max(ms, ASKED_PAUSE.leastMs), ASKED_PAUSE.mostMs)
  }

  connect(connection: StreamConnection): void {
    this.#connection = connection
  }

  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** Nobody waits for the response any more: it has come, or the request was cancelled. */
  abandon(): void {
    this.#isAbandoned = true
  }

  /** Closes what a server has left open. */
  closeAbandoned(): void {
    if (!this.#isAbandoned) return
    this.#connection?.cancel()
    this.#over()
  }

  /** Its connection has ended. What is too large would come again after the same event. */
  end(isTooLarge: boolean): void {
    if (isTooLarge) this.#lastEventId = undefined
    this.#goOn(0)
  }

  /** What belongs to no request is worth any number of attempts; whoever waits for a response is told. */
  #goOn(failures: number): void {
    if (this.#isAbandoned) return this.#over()
    const isLost = this.#lastEventId === undefined || failures >= MAX_FAILURES
    if (this.#request !== undefined && isLost) return this.#over()
    const pauseMs = this.#pauseMs ?? backoffMs(failures + 1, PAUSE)
    this.#owner.later(pauseMs, () => void this.#reopen(failures))
  }

  async #reopen(failures: number): Promise<void> {
    if (this.#isAbandoned) return this.#over()
    const outcome = await this.#owner.reopen(this, this.#lastEventId)
    if (outcome === 'failed') this.#goOn(failures + 1)
    else if (outcome === 'refused') this.#over()
  }

  #over(): void {
    if (this.#request === undefined) return
    this.#owner.ended(this.#request.id)
    if (!this.#isAbandoned) this.#request.onEnd?.()
  }
}

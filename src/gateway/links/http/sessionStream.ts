/**
 * A stream of a server's messages: the response to one request, or the stream of messages that belong to no request. It
 * outlives its connections: a response resumes after the last event id, and the other stream is reopened.
 */
import { MessageOverLimit, type StreamEvent } from '../../../client/internal.ts'
import { backoffMs, type RequestId } from '../../../protocol/index.ts'
import type { EventSink } from './exchange.ts'

export interface StreamOwner {
  /** Receives the text of a message. `on`: the request on whose stream it came. */
  receive(text: string, on?: RequestId): void
  /** The response to this request exceeds the limit. */
  exceeded(id: RequestId, limit: MessageOverLimit): void
  /** Reopens a stream after the event of this id. */
  reopen(stream: SessionStream, lastEventId: string | undefined): Promise<Reopening>
  /** The stream of a request has ended. */
  ended(id: RequestId): void
  /** Runs `work` after a delay, unless the connection is closed by then. */
  later(ms: number, work: () => void): void
}

/** The outcome of an attempt: the stream is open, it failed, or the server does not support it. */
export type Reopening = 'open' | 'failed' | 'refused'

/** The request that a stream answers. */
export interface StreamedRequest {
  readonly id: RequestId
  /** Called when the stream has ended without the response and cannot be resumed. */
  readonly onEnd: (() => void) | undefined
}

/** The connection that carries the events. */
interface StreamConnection {
  /** Closes it. The stream gets nothing more. */
  cancel(): void
}

/** Backoff as in the official SDK. */
const PAUSE = { firstMs: 1000, maxMs: 30_000, factor: 1.5 }
const MAX_FAILURES = 2
/** Bounds of the delay that a server may ask for instead. */
const ASKED_PAUSE = { leastMs: 100, mostMs: 600_000 }

/** An event id that is invalid in a header cannot be resumed from. */
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

  event({ id, event, data }: StreamEvent): void {
    if (id !== undefined && IN_HEADER.test(id)) this.#lastEventId = id
    if (event === undefined || event === 'message') this.#owner.receive(data, this.#request?.id)
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

  /** Marks the response as no longer needed: it has arrived, or the request was cancelled. */
  abandon(): void {
    this.#isAbandoned = true
  }

  /** Closes an abandoned connection that the server has left open. */
  closeAbandoned(): void {
    if (!this.#isAbandoned) return
    this.#connection?.cancel()
    this.#over()
  }

  /**
   * Handles the end of the connection. After an event that is too large, the stream is not resumed: the server would send the same event again.
   */
  end(error?: Error): void {
    if (error instanceof MessageOverLimit) {
      this.#lastEventId = undefined
      if (this.#request !== undefined) this.#owner.exceeded(this.#request.id, error)
    }
    this.#reopenLater(0)
  }

  /**
   * Reopens the stream with backoff. A stream of no request retries without limit; a response that cannot be resumed
   * ends.
   */
  #reopenLater(failures: number): void {
    if (this.#isAbandoned) return this.#over()
    const isLost = this.#lastEventId === undefined || failures >= MAX_FAILURES
    if (this.#request !== undefined && isLost) return this.#over()
    const pauseMs = this.#pauseMs ?? backoffMs(failures + 1, PAUSE)
    this.#owner.later(pauseMs, () => void this.#reopen(failures))
  }

  async #reopen(failures: number): Promise<void> {
    if (this.#isAbandoned) return this.#over()
    const outcome = await this.#owner.reopen(this, this.#lastEventId)
    if (outcome === 'failed') this.#reopenLater(failures + 1)
    else if (outcome === 'refused') this.#over()
  }

  #over(): void {
    if (this.#request === undefined) return
    this.#owner.ended(this.#request.id)
    if (!this.#isAbandoned) this.#request.onEnd?.()
  }
}

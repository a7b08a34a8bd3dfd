/** Reads the whole answer to one message: a JSON text, or the events of a stream up to the answer. */
import type { IncomingHttpHeaders } from 'node:http'
import { failureReason } from '../../client/index.ts'
import { eventBytes, EventParser, readPaced, type SizeCounter, totalBytes } from '../../client/internal.ts'
import { mediaTypeOf } from '../../protocol/index.ts'
import { BackendError, tooLarge } from '../errors.ts'
import type { AnswerReceiver, UpstreamMessage, UpstreamRequest, Upstreams } from './upstreams.ts'

export interface UpstreamAnswer {
  readonly status: number
  /** Undefined for a stream. */
  readonly text: string | undefined
}

export interface AnswerOptions {
  readonly server: string
  readonly signal: AbortSignal
  /** Receives an event of a stream; returns true to end the stream. */
  readonly onEvent: (data: string) => boolean
}

/** Sends a message, and reads the answer. Rejects with a BackendError, or the signal's reason. */
export function askUpstream(
  upstreams: Upstreams,
  message: UpstreamMessage,
  options: AnswerOptions,
): Promise<UpstreamAnswer> {
  const reader = new AnswerReader(options, upstreams.first.maxMessageBytes)
  reader.request = upstreams.send(message, reader)
  return reader.answer
}

class AnswerReader implements AnswerReceiver {
  readonly #options: AnswerOptions
  readonly #maxBytes: number
  readonly #answer = Promise.withResolvers<UpstreamAnswer>()
  readonly #cancel = (): void => this.#fail(this.#options.signal.reason as Error)
  #status = 0
  #events: EventParser | undefined
  #sizeWith: SizeCounter = totalBytes()
  readonly #decoder = new TextDecoder()
  readonly #chunks: Buffer[] = []
  request: UpstreamRequest | undefined

  constructor(options: AnswerOptions, maxBytes: number) {
    this.#options = options
    this.#maxBytes = maxBytes
    options.signal.addEventListener('abort', this.#cancel)
  }

  get answer(): Promise<UpstreamAnswer> {
    if (this.#options.signal.aborted) this.#cancel()
    return this.#answer.promise
  }

  begin(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status
    if (mediaTypeOf(headers['content-type']) !== 'text/event-stream') return
    this.#sizeWith = eventBytes()
    const onEvent = ({ data }: { data: string }): void => {
      if (this.#options.onEvent(data)) this.#end(undefined)
    }
    this.#events = new EventParser({ onEvent })
  }

  data(chunk: Buffer): void {
    readPaced(this.request, () => this.#take(chunk))
  }

  #take(chunk: Buffer): void {
    if (this.#sizeWith(chunk) > this.#maxBytes)
      return this.#fail(new BackendError('BACKEND_INVALID', this.#options.server, tooLarge(this.#maxBytes)))
    if (this.#events === undefined) this.#chunks.push(chunk)
    else this.#events.feed(this.#decoder.decode(chunk, { stream: true }))
  }

  end(): void {
    this.#end(this.#events === undefined ? Buffer.concat(this.#chunks).toString() : undefined)
  }

  fail(cause: Error, wasSent: boolean): void {
    this.#fail(unanswered(this.#options.server, cause, wasSent))
  }

  #end(text: string | undefined): void {
    this.#answer.resolve({ status: this.#status, text })
    this.#stop()
  }

  #fail(error: Error): void {
    this.#answer.reject(error)
    this.#stop()
  }

  #stop(): void {
    this.#options.signal.removeEventListener('abort', this.#cancel)
    this.request?.cancel()
  }
}

/** The error for a request without an answer. `wasSent`: whether the server may have got it. */
export function unanswered(server: string, cause: unknown, wasSent: boolean): BackendError {
  const { why = 'the connection is broken.' } = failureReason(cause)
  if (!wasSent) return new BackendError('BACKEND_DOWN', server, `cannot be reached: ${why}`, { cause })
  const sentence = `gave no answer: ${why} What the call does may have happened.`
  return new BackendError('BACKEND_LOST', server, sentence, { cause })
}

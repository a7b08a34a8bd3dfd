/**
 * Batches: several messages in one array. Only the revision 2025-03-26 has them, and its servers must accept them. Each
 * message is served like a single message. The responses are one array, or events of one stream once a message of the
 * batch needs a stream. Each call keeps the event ids of its own stream, so a client that loses the connection can come
 * back to the call of the last event.
 */
import { idOf, type Json, type Message, ProtocolError, type RequestId, readMessage } from '../../protocol/index.ts'
import { ServerError } from '../errors.ts'
import type { HttpReply, Sink } from '../http/exchange.ts'
import { SSE_HEADERS, sseEvent } from '../http/sse.ts'
import { errorMessage } from '../results.ts'
import { toWireError } from '../wireErrors.ts'

const BATCH_VERSION = '2025-03-26'
const MAX_MESSAGES = 100
// The responses are held in memory until the last one is complete, and a small batch can cause very large ones.
const MAX_RESPONSE_CHARS = 64 * 1024 * 1024

export type PostMessage = (message: Message, sink: Sink) => Promise<HttpReply | undefined>

/** Throws if the version has no batches, or the batch is invalid. */
export function assertBatch(values: readonly unknown[], version: string): void {
  if (version !== BATCH_VERSION) {
    throw new ProtocolError('MESSAGE_INVALID', `Only ${BATCH_VERSION} has batches: send each message by itself.`)
  }
  if (values.length > 0 && values.length <= MAX_MESSAGES) return
  throw new ProtocolError('MESSAGE_INVALID', `A batch has between 1 and ${MAX_MESSAGES} messages.`)
}

/** Reads one message of a batch. */
export function readBatched(value: unknown): Message {
  const message = readMessage(value)
  if (message.kind !== 'request' || message.method !== 'initialize') return message
  throw new ProtocolError('MESSAGE_INVALID', '"initialize" must not be part of a batch.')
}

/** Returns the reply, or undefined when the responses go through the sink. */
export async function answerBatch(
  values: readonly unknown[],
  sink: Sink,
  post: PostMessage,
): Promise<HttpReply | undefined> {
  const shared = new SharedSink(sink)
  const replies = await Promise.all(
    values.map(async (value) => {
      const reply = await answerOne(value, shared.part(), post)
      if (reply?.body === undefined || !isRequest(value)) return reply
      shared.add(reply.body, value)
      return undefined
    }),
  )
  if (values.some(isRequest)) return shared.finish()
  return replies.find((reply) => reply !== undefined && reply.status >= 400) ?? { status: 202 }
}

async function answerOne(value: unknown, sink: Sink, post: PostMessage): Promise<HttpReply | undefined> {
  try {
    return await post(readBatched(value), sink)
  } catch (error) {
    const wire = toWireError(error)
    return { status: wire.status === 200 ? 400 : wire.status, body: errorMessage(idOf(value), wire) }
  }
}

/** Whether a response is due: for a request, and for a message that cannot be read. */
function isRequest(value: unknown): boolean {
  const { method, id, result, error } = (value ?? {}) as { method?: unknown; id?: RequestId } & Json
  if (result !== undefined || error !== undefined) return false
  return method === undefined || id !== undefined
}

/** The connection of a batch. It becomes a stream when one of the calls needs one. */
class SharedSink {
  readonly #sink: Sink
  readonly #ended: Promise<void>[] = []
  #isOpen = false
  #responses: string[] = []
  #chars = 0

  constructor(sink: Sink) {
    this.#sink = sink
  }

  /** The sink of one message. */
  part(): Sink {
    const sink = this.#sink
    const ended = Promise.withResolvers<void>()
    return {
      setHeaders: (headers) => sink.setHeaders(headers),
      open: () => {
        this.#ended.push(ended.promise)
        this.#open()
      },
      write: (text) => sink.write(text),
      end: () => ended.resolve(),
      onDisconnect: (listener) => {
        sink.onDisconnect(() => {
          ended.resolve()
          listener()
        })
      },
      get disconnected() {
        return sink.disconnected
      },
      address: sink.address,
    }
  }

  /**
   * Adds the response to a request without a stream. In a batch without any stream, a response over the limit becomes
   * an error.
   */
  add(response: string, request: unknown): void {
    if (this.#isOpen) return this.#sink.write(sseEvent(response))
    const isTooMuch = this.#chars > 0 && this.#chars + response.length > MAX_RESPONSE_CHARS
    const kept = isTooMuch ? errorMessage(idOf(request), toWireError(tooMuch())) : response
    this.#chars += kept.length
    this.#responses.push(kept)
  }

  /** Ends the stream when each call has ended its part. Without a stream, returns the reply. */
  async finish(): Promise<HttpReply | undefined> {
    if (!this.#isOpen) return { status: 200, body: `[${this.#responses.join(',')}]` }
    await Promise.all(this.#ended)
    this.#sink.end()
    return undefined
  }

  #open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#sink.open(SSE_HEADERS)
    for (const response of this.#responses) this.#sink.write(sseEvent(response))
    this.#responses = []
  }
}

function tooMuch(): ServerError {
  const sentence =
    'The responses of this batch are together too large. This request has been served; send one like it by itself.'
  return new ServerError('RESULT_TOO_LARGE', sentence)
}

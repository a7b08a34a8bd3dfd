/**
 * The SDK's transport for HTTP+SSE, the transport of the revision 2024-11-05: messages of the server come on the stream of
 * one GET, and its first event says where to post messages. Two differences to the SDK's: a stream that was cut ends the
 * connection, because the next one would be a new session without `initialize`; and a failed request is an error
 * with its HTTP status, without the text that the server wrote.
 */
import {
  type FetchLike,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  type SSEClientTransportOptions,
} from '@modelcontextprotocol/client'
import { unref } from '../../protocol/index.ts'
import { ServerUnreadable } from './serverMessage.ts'

export interface SseOptions {
  readonly fetch: FetchLike
  readonly headers: Headers
  /** How long the server may take to say where messages are posted. */
  readonly startTimeoutMs: number
}

export class SseTransport extends SSEClientTransport {
  readonly #startTimeoutMs: number
  readonly #connection: StreamState

  constructor(url: URL, { fetch, headers, startTimeoutMs }: SseOptions) {
    const connection = newStreamState((reason) => {
      if (reason instanceof ServerUnreadable) this.onerror?.(reason)
      void this.close()
    })
    const options: SSEClientTransportOptions = { fetch: watched(fetch, connection), requestInit: { headers } }
    super(url, options)
    this.#startTimeoutMs = startTimeoutMs
    this.#connection = connection
  }

  /** Whether the server's stream has ended. */
  get isCut(): boolean {
    return this.#connection.isCut
  }

  override async close(): Promise<void> {
    this.#connection.isClosed = true
    await super.close()
  }

  override async start(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      const error = new SdkError(SdkErrorCode.RequestTimeout, 'The server named no address for messages.')
      timer = unref(setTimeout(() => reject(error), this.#startTimeoutMs))
    })
    try {
      await Promise.race([super.start(), late])
    } catch (error) {
      await this.close()
      throw this.#connection.failure ?? error
    } finally {
      clearTimeout(timer)
    }
  }
}

/** What happened to the requests of one transport. */
interface StreamState {
  /** Why the stream could not be opened. The SDK's event source does not pass errors of `fetch` on. */
  failure: unknown
  isOpened: boolean
  isCut: boolean
  /** By this side. */
  isClosed: boolean
  readonly onCut: (reason: unknown) => void
}

function newStreamState(onCut: StreamState['onCut']): StreamState {
  return { failure: undefined, isOpened: false, isCut: false, isClosed: false, onCut }
}

function watched(fetch: FetchLike, connection: StreamState): FetchLike {
  return (url, init) => (init?.method === 'POST' ? post(fetch, url, init) : open(fetch, url, init, connection))
}

async function post(fetch: FetchLike, url: string | URL, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  if (!response.ok) throw await httpError(response)
  return response
}

async function open(
  fetch: FetchLike,
  url: string | URL,
  init: RequestInit | undefined,
  connection: StreamState,
): Promise<Response> {
  if (connection.isOpened) return new Response(null, { status: 204 }) // stops the event source from reconnecting
  try {
    const response = await fetch(url, init)
    if (!response.ok) throw await httpError(response)
    connection.isOpened = true
    return withEnd(response, (reason) => {
      if (connection.isClosed) return
      connection.isCut = true
      connection.onCut(reason)
    })
  } catch (error) {
    connection.failure = error
    throw error
  }
}

/** Calls `onEnd` when the body has ended, or was cut for a reason. */
function withEnd(response: Response, onEnd: (reason: unknown) => void): Response {
  if (response.body === null) return response
  const passing = new TransformStream<Uint8Array, Uint8Array>()
  void response.body.pipeTo(passing.writable).then(onEnd, onEnd)
  return new Response(passing.readable, response)
}

async function httpError(response: Response): Promise<SdkHttpError> {
  const { status, statusText } = response
  const text = await response.text().catch(() => '')
  const code = SdkErrorCode.ClientHttpFailedToOpenStream
  return new SdkHttpError(code, `The server answered HTTP ${status}.`, { status, statusText, text })
}

/**
 * One HTTP exchange, independent of the HTTP server: the request, the two ways to answer it, and the handler.
 */
import type { MessageReply, ReplySink } from '../../cluster/index.ts'
import type { Era, HeaderReader } from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'

/** A request whose headers have been read, and whose body has not. */
export interface EndpointRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** The query of the address, without its question mark; empty if there is none. */
  readonly query: string
  readonly header: HeaderReader
  /** Whether the request reached this process over a loopback address. */
  readonly loopback: boolean
  /** The size of the unread body, by Content-Length; NaN if unknown. */
  readonly declaredBytes: number
  /** The reason why the body cannot be read, if a framework has already read it. */
  readonly unreadable: string | undefined
  /**
   * Reads the whole body as one JSON value. Rejects with a ProtocolError if it is invalid, or RequestRefused if it is
   * too large.
   */
  json(): Promise<unknown>
  /** The body as it arrives, for a handler that passes it on unparsed. It excludes `json` and `whole`. */
  bytes(maxBytes?: number): AsyncIterable<Uint8Array>
  /** Whether the body is available as bytes. Some frameworks pass only a parsed body. */
  readonly hasBytes: boolean
  /** Reads the whole body and leaves it unparsed. `json` can be called afterwards. Rejects as `json` does. */
  whole(): Promise<Uint8Array>
  /** All headers as they came: names and values in turn. */
  readonly rawHeaders: readonly string[]
}

/** An admitted request, by its headers. */
export interface Admission {
  readonly principal: Principal | undefined
  /**
   * The era by its headers. Undefined leaves the decision to the message; if the two disagree, the message's envelope
   * counts.
   */
  readonly era: Era | undefined
}

/** Answers admitted requests: the server's own handler reads a message, another may pass the bytes on. */
export interface RequestHandler {
  /** Returns the reply, or undefined when the answer goes through the sink. */
  handle(request: EndpointRequest, admission: Admission, sink: HostSink): Promise<HttpReply | undefined>
}

/** Messages of other instances of this server. Their media type distinguishes them from requests of clients. */
export interface InstanceMessages {
  readonly mediaType: string
  /** The size limit, in bytes. */
  readonly maxBytes: number
  /** Refuses, by its headers, a message that does not come from an instance or is not for this one. */
  refusalOf(header: HeaderReader): HttpReply | undefined
  /** Returns the reply, or undefined when the answer goes through the sink. */
  receive(text: string, sink: Sink): Promise<HttpReply | undefined>
}

/** A complete HTTP answer, to a client or to another instance. */
export interface HttpReply extends MessageReply {
  /** The media type of the body. @default 'application/json' */
  readonly type?: string
}

/** An answer that is streamed. */
export interface Sink extends ReplySink {
  /** The client's address: from the connection, or as its proxy reports it. Undefined if unknown. */
  readonly address?: string | undefined
}

/** The sink of a host, which can also pass on the bytes of another server's answer. */
export interface HostSink extends Sink {
  address: string | undefined
  /** Prepares such an answer. `onDrain` is called when the client has read the data that `write` had to buffer. */
  openBytes(head: AnswerHead, onDrain: () => void): ByteSink
}

export interface AnswerHead {
  readonly status: number
  /** Names and values in turn. */
  readonly headers: readonly string[]
}

/** The head goes out with the first bytes. */
export interface ByteSink {
  /** Sends the head alone. */
  flush(): void
  /** Returns false when nothing more should be written before `onDrain`. */
  write(chunk: Buffer): boolean
  end(last?: Buffer): void
  /** Aborts the answer, so that its client sees that it is incomplete. */
  abort(): void
}

/** The maximum number of unread bytes in a sink. Above it the connection is closed. */
export const MAX_UNREAD_BYTES = 16 * 1024 * 1024

const READ_WITHIN_MS = 60_000
const READ_BYTES_PER_MS = 64

/** How long a client may take to read this number of bytes, which stay in memory until then. */
export function readWithinMs(bytes: number): number {
  return READ_WITHIN_MS + bytes / READ_BYTES_PER_MS
}

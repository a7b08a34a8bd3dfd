/** One client request as plain data: its sender, the channel back to it, and the handlers that can answer it. */
import type { ClientCapabilities, Implementation, InputRequest, LoggingLevel } from '@modelcontextprotocol/client'
import type { Journal, Watch } from '../journal/index.ts'
import type { Era, HeaderReader, Json, RequestId } from '../protocol/index.ts'
import type { Principal } from './auth/authenticator.ts'
import type { Carry } from './catalog/carry.ts'
import type { Instance } from '../cluster/index.ts'

/**
 * Answers calls, whatever host they came by: the pipeline of this server, or anything else that can stand behind the
 * HTTP endpoint and standard input and output.
 */
export interface CallHandler {
  /** Gives no promise where nothing waits. Should not reject: hosts answer a rejection with an internal error. */
  answer(call: Call): CallAnswer | Promise<CallAnswer>
}

export interface CallAnswer {
  /** The whole response message. */
  readonly body: string
  /** The HTTP status, for hosts that have one. */
  readonly status: number
  /** More headers, for hosts that have them. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The code of one method. Gives the text of a result, or throws. */
export type CallMethod = (call: Call) => string | Promise<string>

/** The sender of a request. */
export interface Caller {
  readonly peer: Peer
  readonly principal: Principal | undefined
  /** The network of an anonymous caller, if known: limits are counted by it. */
  readonly address?: string | undefined
}

/** One client request, whatever host it came by. */
export interface Call extends Caller {
  readonly id: RequestId
  readonly method: string
  readonly params: Json
  readonly meta: Json
  readonly channel: Channel
  /** Absent if the transport has no headers. */
  readonly header: HeaderReader | undefined
  /**
   * The journal to continue from, for a call that another process began and the answer to a pushed question brought
   * here.
   */
  readonly resumed?: Journal
  /** The instance that forwarded it, which has counted it for its caller's limits. */
  readonly forwardedBy?: Instance
  /** The Authorization header of a forwarded call, which has no other header. */
  readonly authorization?: string | undefined
  /** The digest of the approved call, if the instance that asked for the approval forwards it. */
  readonly approved?: string | undefined
  /** Absent when no telemetry is registered. */
  readonly observer?: CallObserver
}

/** Whether an earlier round of the call has run: the request brings its state, or answers to its questions. */
export function isLaterRound({ params, resumed }: Pick<Call, 'params' | 'resumed'>): boolean {
  const { requestState, inputResponses } = params
  return requestState !== undefined || inputResponses !== undefined || resumed !== undefined
}

/** The identity of a call in its spans. */
export interface TracedCall extends Pick<Journal, 'id' | 'round' | 'trace'> {
  readonly open: { keys(): Iterable<string> }
}

/** Reports facts to telemetry that the answer does not show. */
export interface CallObserver {
  /** Runs a round inside its span. Undefined: it is not known which call the round belongs to. */
  opened<T>(call: TracedCall | undefined, run: () => T): T
  /** Observes steps. `inner` is called as well. */
  watch(inner: Watch | undefined): Watch | undefined
  /** Sends a question over the live connection, with the trace in its `_meta`. */
  pushed<T>(key: string, request: InputRequest, send: PushRequest<T>, call?: TracedCall): Promise<T>
  /** The `_meta` of the request, for work that belongs to it and is done later. */
  carried(meta: Json): Json
  /** The round ended with these questions. */
  asked(requests: ReadonlyMap<string, InputRequest>, call?: TracedCall): void
  /** The result says that the tool failed. */
  toolFailed(): void
  /** An answer did not fit its question. */
  answerRefused(): void
}

type PushRequest<T> = (request: InputRequest) => Promise<T>

/** The client of one request, as it described itself in the request's envelope or when its session began. */
export interface Peer {
  readonly era: Era
  readonly version: string
  readonly client: Implementation | undefined
  readonly capabilities: ClientCapabilities
  /** The lowest level of log messages to send; undefined sends none. */
  readonly logLevel: LoggingLevel | undefined
  /** The session-era session, if there is one. */
  readonly session: string | undefined
  /** The instance that began the session, if known. */
  readonly begunBy?: Instance | undefined
  /** Whether questions travel as `input_required` results; otherwise they are pushed over the live connection. */
  readonly takesInputRequired: boolean
}

/** The way back to the client that belongs to this request alone. */
export interface Channel {
  /** Sends a notification before the response. */
  notify(method: string, params: Json): void
  /**
   * Asks in place and waits for the answer (session era only). `carried` is the call, ready to be sealed with the
   * request.
   */
  push?(request: InputRequest, carried: CarriedCall): Promise<unknown>
  /**
   * Marks the call as waiting for something that any instance can wait for (session era only). When this process stops
   * meanwhile, another instance resumes the call, and it is cancelled here. Gives the function that removes the mark.
   */
  waitAnywhere?(carried: Omit<CarriedCall, 'key'>): () => void
  /** Closes the connection without ending the stream; the client resumes it (session era only). */
  hangUp?(retryMs: number): void
  /** Takes progress that is not a notification to the client, as in a task. */
  progress?(progress: number, total: number | undefined, message: string | undefined): void
  /** Calls the listener when the client cancels the request or disconnects; at once if that has happened. */
  onCancel(listener: () => void): void
  readonly cancelled: boolean
  /** Whether another instance has the call by now (session era only). */
  readonly isHandedOff?: boolean
  /**
   * Whether the client has a connection for this request, or has got the response; it may reconnect (session era only).
   */
  readonly isConnected?: boolean
  /** The address of the client's connection, if known. */
  readonly address?: string | undefined
}

/** The data from which another instance continues a call at a pushed question. */
export interface CarriedCall {
  readonly key: string
  readonly id: string
  /** The `carry` of the tool, prompt or resource, if set. */
  readonly carry?: Carry | undefined
  /** The journal as it is at the moment of asking. */
  readonly body: () => unknown
  /** Whether the call needs a connection of this process, so that no other instance can resume it. @default false */
  readonly isBound?: boolean
  /** Whether the sender of an answer may still answer, by the credentials that came with it. @default the one who was asked */
  readonly mayAnswer?: ((answerer: Caller) => boolean) | undefined
  /** Called with the sender of the answer, before the answer is given. */
  readonly onAnswer?: ((answerer: Caller) => void) | undefined
}

import type { ClientCapabilities, Implementation, InputRequest, LoggingLevel } from '@modelcontextprotocol/client'
import type { Journal } from '../journal/index.ts'
import type { Era, HeaderReader, Json, RequestId } from '../protocol/index.ts'
import type { Principal } from './auth/authenticator.ts'

/** One client request on its way through the pipeline, whatever host it came by. */
export interface Call {
  readonly id: RequestId
  readonly method: string
  readonly params: Json
  readonly meta: Json
  readonly peer: Peer
  readonly principal: Principal | undefined
  readonly channel: Channel
  /** Absent where the transport has no headers. */
  readonly header: HeaderReader | undefined
  /** Where this call goes on from, when it was begun elsewhere and brings its journal in a pushed question's answer. */
  readonly revived?: Journal
  /** Absent when nobody is listening. */
  readonly notes?: CallNotes
}

/** What telemetry cannot see from outside. */
export interface CallNotes {
  /** The round ended with a question. */
  asked(): void
  /** The result says that the tool failed. */
  toolFailed(): void
}

/** The way back to the client that belongs to this request alone. */
export interface Channel {
  /** Sends a notification before the response. */
  notify(method: string, params: Json): void
  /** Asks in place and waits for the answer (session era only). `carried` is the call, ready to be sealed with the request. */
  push?(request: InputRequest, carried: CarriedCall): Promise<unknown>
  /** Lets the connection go without ending the stream; the client resumes it (session era only). */
  hangUp?(retryMs: number): void
  /** Takes progress where that is not a notification to the client: in a task. */
  progress?(progress: number, total: number | undefined, message: string | undefined): void
  /** Ends the long answer of `subscriptions/listen` when the server goes away. */
  onCancel(listener: () => void): void
  readonly cancelled: boolean
}

/** What another instance needs to go on with a call from a pushed question. */
export interface CarriedCall {
  readonly key: string
  readonly id: string
  /** The journal as it is at the moment of asking. */
  readonly body: () => unknown
}

/** The other side of one request: what it said of itself, in its envelope or when its session began. */
export interface Peer {
  readonly era: Era
  readonly version: string
  readonly client: Implementation | undefined
  readonly capabilities: ClientCapabilities
  /** Log messages from this level up are wanted; undefined wants none. */
  readonly logLevel: LoggingLevel | undefined
  /** The session-era session, where there is one. */
  readonly session: string | undefined
  /** Whether questions travel as `input_required` results; else they are pushed over the live connection. */
  readonly rounds: boolean
}

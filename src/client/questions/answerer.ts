/** Answerers: small functions that answer what servers ask, one for each kind of question. */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Json } from '../../protocol/index.ts'

/** A call in which a server may ask: its method, and the tool, prompt or resource. */
export interface AskedCall {
  readonly method: string
  readonly name: string | undefined
}

/** One question, and where it comes from. */
export interface Asked {
  /** The question's key in `inputRequests`, or the id of a pushed request. */
  readonly key: string
  /**
   * A server of the session era pushed the question as a request and holds its call open. Such a question has no key,
   * and its call cannot be suspended.
   */
  readonly isPushed?: boolean
  readonly request: InputRequest
  /** The call that needs the answer; undefined if a session-era server asks while several calls are under way. */
  readonly call: AskedCall | undefined
  /** Who asks, as far as the client knows: what the server calls itself, and how it was reached. */
  readonly server: { readonly name: string | undefined; readonly target: string | undefined }
  /** Aborted when the call ends before the answer: the answer is no longer needed. */
  readonly signal: AbortSignal
}

/** Gives the response to one question. A refusal is an answer, too: `{ action: 'decline' }`. */
export type Answerer = (asked: Asked) => Json | Promise<Json>

/** Answerers by kind. A kind without an answerer is not declared to servers, so they do not ask it. */
export interface Answerers {
  /** Forms. */
  form?: Answerer
  /** Pages to visit. */
  url?: Answerer
  /** Answers requests for the client's model. */
  sampling?: Answerer
  /** Answers requests for folders. */
  roots?: Answerer
}

/**
 * Thrown by an answerer that cannot answer now. The call is then suspended; where that is impossible, the question is
 * refused. `suspend()` throws a subclass with the options for it.
 */
export class AnswerLater extends Error {
  // The name that hosts know this error by.
  override readonly name = 'Suspend'
}

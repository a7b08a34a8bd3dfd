/** Answering what servers ask: small functions, chosen by the kind of question. */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Json } from '../../protocol/index.ts'

/** A call in which a server may ask: its method, and the tool, prompt or resource. */
export interface AskedCall {
  readonly method: string
  readonly name: string | undefined
}

/** One question, and where it comes from. */
export interface Asked {
  /** The key it stands under, or the id of a pushed request. */
  readonly key: string
  /** A server of the session era pushed it, and holds its call open: it has no key, and cannot be put to sleep. */
  readonly isPushed?: boolean
  readonly request: InputRequest
  /** The call that needs the answer; undefined where a server of the session era asks while several are under way. */
  readonly call: AskedCall | undefined
  /** Who asks, as far as the client knows: what the server calls itself, and how it was reached. */
  readonly server: { readonly name: string | undefined; readonly target: string | undefined }
  /** Aborted when the call is over before the answer came: nobody needs it any more. */
  readonly signal: AbortSignal
}

/** Gives the response to one question. A refusal is an answer too: `{ action: 'decline' }`. */
export type Answerer = (asked: Asked) => Json | Promise<Json>

/** By kind. A kind without an answerer is not declared to servers, so they do not ask it. */
export interface Answerers {
  /** Forms. */
  form?: Answerer
  /** Pages to visit. */
  url?: Answerer
  sampling?: Answerer
  roots?: Answerer
}

/** Answering what servers ask: small functions, chosen by the kind of question. */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Json } from '../protocol/index.ts'

/** One question, and where it comes from. */
export interface Asked {
  /** The key it stands under, or the id of a pushed request. */
  readonly key: string
  readonly request: InputRequest
  /** The call that needs the answer. */
  readonly call: { readonly method: string; readonly name: string | undefined }
  /** Who asks, as far as the client knows: what the server calls itself, and how it was reached. */
  readonly server: { readonly name: string | undefined; readonly target: string | undefined }
  /** Aborted when the call is cancelled: nobody needs the answer any more. */
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

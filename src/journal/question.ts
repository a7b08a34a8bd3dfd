import type { InputRequest } from '@modelcontextprotocol/client'
import type { Approvers } from './journal.ts'

/** A question of a handler: the request to send, and how to read the response. */
export interface Question<T> {
  /** The input request as it is sent to the client. */
  readonly request: InputRequest
  /** Equal for equal requests: shows whether a question has changed since it was answered. */
  readonly fingerprint: string
  /** Whether an answer is valid only for exactly this request. If not, it is valid for any question with its key. */
  readonly pinned: boolean
  /** Who may answer. @default the caller */
  readonly approvers?: Approvers | undefined
  /** The request as it is sent after a response that did not fit. @default the same request */
  readonly again?: (issues: string) => InputRequest
  /** Reads a response that already has the right shape. */
  read(key: string, response: Readonly<Record<string, unknown>>): Reading<T> | Promise<Reading<T>>
}

/** The value that a response stands for, or that the response does not fit the question. */
export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  /** `issues` says what is wrong with the response, in words for the person. */
  | { readonly ok: false; readonly issues?: string }

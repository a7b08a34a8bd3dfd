import type { InputRequest } from '@modelcontextprotocol/client'

/** What a handler asks, ready to be sent, and how its answer is read. */
export interface Question<T> {
  /** As it goes over the wire. */
  readonly request: InputRequest
  /** Same text, same fingerprint: tells a changed question from the one that was answered. */
  readonly fingerprint: string
  /** An answer counts only for exactly this question. Unpinned, it counts for whatever stands under the key. */
  readonly pinned: boolean
  /** Reads a response that already has the right shape. */
  read(key: string, response: Readonly<Record<string, unknown>>): Reading<T> | Promise<Reading<T>>
}

export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false }

/** What each client's `driver.js` offers, so that one set of checks runs with all of them. */

/** One instance over HTTP, two behind a round robin, or a program that the client starts. */
export const PLACES = ['http', 'two', 'stdio'] as const

export type Place = (typeof PLACES)[number]

export type Target = { readonly url: string } | { readonly command: string; readonly args: readonly string[] }

/** What the client's user says to questions. */
export interface Answers {
  elicit(): { action: 'accept'; content: Record<string, string> }
  sample(): { role: 'assistant'; content: { type: 'text'; text: string }; model: string; stopReason: 'endTurn' }
}

export interface DriverOptions {
  readonly answers: Answers
  /** The revision to speak, for clients that can be told. */
  readonly era: Era | undefined
}

/** `session`: a revision that begins with `initialize`. `stateless`: 2026-07-28. */
export type Era = 'session' | 'stateless'

export interface CallOptions {
  /** Absent where nobody wants to cancel. */
  readonly signal?: AbortSignal
  /** Absent where nobody wants progress. */
  readonly onProgress?: (progress: number) => void
}

/** A connection. Where a client has no way to do something, its driver leaves it out, and the server sees that. */
export interface Connection {
  /** The names of the tools. */
  list(): Promise<readonly string[]>
  /** The text of the result. Rejects where the result is an error. */
  call(name: string, args: Readonly<Record<string, unknown>>, options: CallOptions): Promise<string>
  /** The same as a task. Absent where the client decides by itself, or cannot. */
  callAsTask?(name: string): Promise<string>
  close(): Promise<void>
}

export interface Driver {
  open(target: Target, options: DriverOptions): Promise<Connection>
}

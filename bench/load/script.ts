import type { RawResponse } from './responseReader.ts'

/** What one connection says and what it must hear. */
export interface Script {
  /** The next request, as it goes over the wire. */
  next(): Buffer | string
  /** Checks the answer; true when it ends a unit of work (a call, a flow). Throws `WrongAnswer`. */
  take(answer: RawResponse): boolean
  /** Starts afresh after a wrong answer. */
  reset(): void
}

export class WrongResponse extends Error {
  constructor(expected: string, answer: RawResponse) {
    super(`expected ${expected}, got ${answer.status} ${answer.body.slice(0, 300)}`)
    this.name = 'WrongAnswer'
  }
}

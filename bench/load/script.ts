import type { RawResponse } from './responseReader.ts'

/** The requests of one connection, and the check of their responses. */
export interface Script {
  /** The next request, as it goes over the wire. */
  next(): Buffer | string
  /** Checks a response; true when it ends a unit of work (a call, an elicitation). Throws `WrongResponse`. */
  take(response: RawResponse): boolean
  /** Continues with a new unit of work after a wrong response. */
  reset(): void
}

export class WrongResponse extends Error {
  constructor(expected: string, response: RawResponse) {
    super(`expected ${expected}, got ${response.status} ${response.body.slice(0, 300)}`)
    this.name = 'WrongAnswer'
  }
}

/** What became of one check with one client. */
import type { What } from './checks.ts'
import type { Era, Place } from './driver.ts'

export type Outcome =
  | { readonly what: What; readonly works: true }
  | { readonly what: What; readonly works: false; readonly saw: string }

/** One client at one place: a row of the table. */
export interface Leg {
  /** The client's folder. */
  readonly client: string
  readonly place: Place
  /** Absent for a client that cannot be told which revision to speak. */
  readonly era: Era | undefined
}

export interface LegResult extends Leg {
  /** The era that the server saw; absent where no call came through. */
  readonly spoke: Era | undefined
  /** One for each check, in their order. */
  readonly outcomes: readonly Outcome[]
}

/**
 * Single use. Who claims an id first does the work; everyone after learns that it runs, or what it gave.
 *
 * Invariants, for every ledger:
 * - of any number of claims of one id within its time, exactly one is fresh;
 * - a claim whose process died stays running until its time is over: nobody can know how far the work came;
 * - the first settled value stands, and releasing does not undo it;
 * - a value comes back as JSON, and undefined as undefined.
 */
import { StateError } from '../errors.ts'

export type Claim = { state: 'fresh' } | { state: 'running' } | { state: 'done'; value: unknown }

export interface Ledger {
  /** Claims an id for some seconds. */
  claim(id: string, ttlSeconds: number): Promise<Claim>
  /** Says what the claimed work gave; it is told to later claims until the claim's time is over. */
  settle(id: string, value: unknown): Promise<void>
  /** Gives a claim back because its work was not done, so that it can be claimed again at once. */
  release(id: string): Promise<void>
}

/** Refuses claims that a ledger could not keep its word on. */
export function assertClaim(id: string, ttlSeconds: number): void {
  assertId(id)
  if (Number.isFinite(ttlSeconds) && ttlSeconds > 0) return
  throw new StateError('STATE_OPTION', 'ttlSeconds is a positive, finite number of seconds.')
}

/** Refuses ids that two stores could take for one: in UTF-8 all lone surrogates are the same. */
export function assertId(id: string): void {
  if (typeof id === 'string' && id.isWellFormed()) return
  throw new StateError('STATE_OPTION', 'An id is a string of well-formed Unicode.')
}

export function claimGone(): StateError {
  const advice = 'claim it first, and give the claim more time than the work takes'
  return new StateError('LEDGER_UNKNOWN', `Nothing is claimed under this id, or its time is over; ${advice}.`)
}

/**
 * A circuit breaker for statements that calls wait for: after a timeout of the database, statements fail at once for a
 * while.
 */
import { StateError } from '../../state/internal.ts'
import type { CarryStore, Ledger } from '../../state/stores/index.ts'

const PAUSE_MS = 5000

export class Impatience {
  readonly #withinMs: number
  readonly #isAway: () => boolean
  #awayUntil = 0

  /** `isAway`: whether other statements have found that the database does not answer. */
  constructor(withinMs: number, isAway: () => boolean = () => false) {
    this.#withinMs = withinMs
    this.#isAway = isAway
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (performance.now() < this.#awayUntil || this.#isAway()) throw unavailable('could not be used a moment ago')
    try {
      return await within(this.#withinMs, work)
    } catch (error) {
      if (!isDatabaseAnswer(error)) this.#awayUntil = performance.now() + PAUSE_MS
      throw error
    }
  }
}

/** Rejects when the database does not answer in time. It may still run the statement. */
export async function within<T>(limitMs: number, work: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(unavailable('does not answer')), limitMs)
  try {
    return await Promise.race([work(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Whether the error is an answer of the database. */
export function isDatabaseAnswer(error: unknown): boolean {
  return error instanceof StateError && error.code !== 'STORE_UNAVAILABLE'
}

function unavailable(why: string): StateError {
  return new StateError('STORE_UNAVAILABLE', `The database ${why}; check its address, and that it is up.`)
}

export function impatientLedger(ledger: Ledger, impatience: Impatience): Ledger {
  return {
    claim: (...args) => impatience.run(() => ledger.claim(...args)),
    settle: (...args) => impatience.run(() => ledger.settle(...args)),
    release: (...args) => impatience.run(() => ledger.release(...args)),
  }
}

export function impatientStore(store: CarryStore, impatience: Impatience): CarryStore {
  return {
    put: (...args) => impatience.run(() => store.put(...args)),
    get: (...args) => impatience.run(() => store.get(...args)),
    delete: (...args) => impatience.run(() => store.delete(...args)),
  }
}

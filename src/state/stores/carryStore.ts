import { StateError } from '../errors.ts'
import { ExpiringMap } from './expiry.ts'
import { assertId } from './ledger.ts'

/**
 * Where sealed journals lie when the server carries them itself. It holds tokens, which stay sealed, so whoever reads
 * the store learns no answers, and what it gives back is checked as if the peer had sent it.
 */
export interface CarryStore {
  /** Keeps a token until a time, in seconds; the last put under an id stands. */
  put(id: string, token: string, expiresAt: number): Promise<void>
  /** The token, or undefined when there is none or its time is over. */
  get(id: string): Promise<string | undefined>
  delete(id: string): Promise<void>
}

export interface MemoryCarryStoreOptions {
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
  /** Above this many live tokens new ones are refused, so that no waiting call is lost. @default 10000 */
  maxEntries?: number
}

/** A store for one process. It forgets everything when the process ends. */
export function memoryCarryStore({ clock = Date.now, maxEntries = 10_000 }: MemoryCarryStoreOptions = {}): CarryStore {
  const tokens = new ExpiringMap<string>(clock)

  return {
    async put(id, token, expiresAt) {
      assertId(id)
      if (tokens.get(id) === undefined && tokens.size >= maxEntries) throw full(maxEntries)
      tokens.set(id, token, expiresAt * 1000)
    },

    async get(id) {
      return tokens.get(id)
    },

    async delete(id) {
      tokens.delete(id)
    },
  }
}

function full(maxEntries: number): StateError {
  const advice = 'raise maxEntries, shorten ttlSeconds, or use a store on disk'
  return new StateError('STORE_FULL', `The store holds ${maxEntries} live tokens and takes no more; ${advice}.`)
}

import { assertOptionNames, type OptionNames } from '../../protocol/index.ts'
import { StateError } from '../errors.ts'
import { ExpiringMap } from './expiry.ts'
import { assertId } from './ledger.ts'

/**
 * A store for sealed journals on the server's side, in place of the client. It holds sealed tokens: nobody who reads the
 * store learns an answer, and a token from the store is verified like one from a client.
 */
export interface CarryStore {
  /** Stores a token until a time, in seconds since 1970. A second put with the same id replaces the first. */
  put(id: string, token: string, expiresAt: number): Promise<void>
  /** The token, or undefined when there is none or it has expired. */
  get(id: string): Promise<string | undefined>
  delete(id: string): Promise<void>
}

export interface MemoryCarryStoreOptions {
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
  /** The maximum number of live tokens. Further ones are refused, so that no waiting call is lost. @default 10000 */
  maxEntries?: number
}

const MEMORY_OPTIONS: OptionNames<MemoryCarryStoreOptions> = { clock: true, maxEntries: true }

/** A carry store in the memory of this process. */
export function memoryCarryStore(options: MemoryCarryStoreOptions = {}): CarryStore {
  assertOptionNames(options, MEMORY_OPTIONS, 'memoryCarryStore')
  const { clock = Date.now, maxEntries = 10_000 } = options
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
  return new StateError('STORE_FULL', `The store has ${maxEntries} live tokens and accepts no more; ${advice}.`)
}

import { CodedError } from '../protocol/index.ts'

/** The codes of all errors of sealed state, keys and stores. `docs/reference/errors.md` says what to do about each. */
export const STATE_CODES = [
  'STATE_MALFORMED',
  'STATE_UNKNOWN_KEY',
  'STATE_TAMPERED',
  'STATE_EXPIRED',
  'STATE_NOT_YET_VALID',
  'STATE_PURPOSE',
  'STATE_AUDIENCE',
  'STATE_PRINCIPAL',
  'STATE_METHOD',
  'STATE_NAME',
  'STATE_ARGUMENTS',
  'STATE_SESSION',
  'STATE_REPLAYED',
  'STATE_TOO_LARGE',
  'STATE_TOO_DEEP',
  'STATE_NOT_JSON',
  'STATE_MISSING',
  'STATE_OPTION',
  'KEYS_EMPTY',
  'KEYS_ENCODING',
  'KEYS_LENGTH',
  'KEYS_DUPLICATE',
  'LEDGER_FULL',
  'LEDGER_UNKNOWN',
  'STORE_FULL',
  'STORE_NEWER',
  'STORE_CORRUPT',
  'STORE_UNAVAILABLE',
] as const

export type StateCode = (typeof STATE_CODES)[number]

/**
 * The class of all errors of sealed state, keys and stores. Its message says what to do, and never contains a token, a
 * key or a body.
 */
export class StateError extends CodedError<StateCode> {
  override readonly name = 'StateError'
}

/** The value, or undefined where the state it is read from is refused. */
export function unlessRefused<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof StateError) return undefined
    throw error
  }
}

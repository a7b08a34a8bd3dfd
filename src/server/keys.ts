import { DAY_SECONDS, findNodeModule, host } from '../protocol/index.ts'
import { StateError } from '../state/internal.ts'
import {
  createRoundSealer,
  createSealer,
  ephemeralKeyring,
  type Keyring,
  keyringIn,
  type Sealer,
  type SealOptions,
} from '../state/seal/index.ts'
import type { Logger, LoggerSlot } from './logger.ts'
import type { ServerOptions } from './options.ts'

const NO_KEY =
  'The option "keys" or the variable PANNIER_KEYS is empty. Make a key with `pannier keys new`, or remove the setting to use a random key of this process.'

/** The ring that was configured, or one of this process alone. */
export function keyringOf({ keys: given }: ServerOptions): Keyring {
  const keys = given ?? host?.env?.['PANNIER_KEYS']
  if (keys === undefined) return ephemeralKeyring()
  if (keys === '') throw new StateError('KEYS_EMPTY', NO_KEY)
  if (Array.isArray(keys))
    throw new StateError('STATE_OPTION', 'The option "keys" is one text: write several keys with commas between them.')
  if (typeof keys !== 'string') return keys
  return keyringIn(given === undefined ? 'PANNIER_KEYS' : 'The option "keys"', keys)
}

// A session id is sent as a header, and servers and proxies limit the size of headers.
const MAX_SESSION_BYTES = 4096
// A client sends the state of a question back with its answer, in one body.
const MAX_PUSHED_BYTES = 2 * 1024 * 1024
// 16 MB, in base64.
const MAX_STORED_BYTES = 22 * 1024 * 1024

/** The sealers of a server for rounds, by carrier. */
export function roundSealers({ maxStateBytes = 65_536 }: ServerOptions, sealing: SealOptions) {
  return {
    /** For states, which travel with clients. */
    sealer: createRoundSealer({ ...sealing, maxBytes: maxStateBytes }),
    /** For the addresses of questions. */
    linkSealer: createRoundSealer({ ...sealing, maxBytes: MAX_SESSION_BYTES }),
    /** For the store. */
    vault: createRoundSealer({ ...sealing, maxBytes: MAX_STORED_BYTES }),
  }
}

/** The sealers of a server for sessions, which cannot wait for WebCrypto. */
export function sessionSealers({ sessionTtlSeconds = DAY_SECONDS }: ServerOptions, sealing: SealOptions) {
  return {
    sessionSealer: createSealer({ ...sealing, ttlSeconds: sessionTtlSeconds, maxBytes: MAX_SESSION_BYTES }),
    /** For states of pushed questions. */
    pushSealer: createSealer({ ...sealing, maxBytes: MAX_PUSHED_BYTES }),
  }
}

/** A sealer for messages between the instances of a server. */
export function messageSealer(sealing: SealOptions): Sealer {
  return createSealer({ ...sealing, maxBytes: MAX_STORED_BYTES })
}

const NO_KEYS =
  'No keys are configured, so no other instance can open what this one seals, nor can this one after a restart. Set PANNIER_KEYS (pannier keys new).'

/** Warns if other instances cannot open the seals of this one. */
export function warnOfMissingKeys(keyring: Keyring, logger: LoggerSlot): void {
  if (keyring.ephemeral) logger.warnOfSetup('PANNIER_NO_KEYS', NO_KEYS)
}

/** A session-era client whose id this instance cannot open learns only that its session is unknown; the operator, why. */
export function warnOfUnknownKey(logger: Logger): void {
  logger.warn(
    { code: 'STATE_UNKNOWN_KEY' },
    'A session id was sealed with a key that this instance does not have. Give all instances the same PANNIER_KEYS.',
  )
}

const NO_SESSIONS =
  'Sessions need node:crypto, which this runtime does not have, so clients of the session era are refused. In a Worker, set the flag nodejs_compat.'

/** Whether sessions can be served. Their ids and questions are sealed where nothing can wait for WebCrypto. */
export function canSealAtOnce(logger: LoggerSlot): boolean {
  if (findNodeModule('node:crypto') !== undefined) return true
  logger.warnOfSetup('PANNIER_NO_SESSIONS', NO_SESSIONS)
  return false
}

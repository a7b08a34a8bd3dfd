import { createKeyring, ephemeralKeyring, type Keyring } from '../state/seal/index.ts'
import type { Logger, LoggerSlot } from './logger.ts'
import type { ServerOptions } from './options.ts'

/** The ring that was configured, or one of this process alone. */
export function keyringOf({ keys = process.env['PANNIER_KEYS'] }: ServerOptions): Keyring {
  if (keys === undefined || keys === '') return ephemeralKeyring()
  return typeof keys === 'string' ? createKeyring(keys) : keys
}

const NO_KEYS =
  'No keys are configured, so no other instance can open what this one seals, nor can this one after a restart. Set PANNIER_KEYS (pannier keys new).'

let isWarned = false

/** Warns where other instances cannot open what this one seals: in the log, or once as a warning of the process. */
export function sayKeys(keyring: Keyring, logger: LoggerSlot): void {
  if (!keyring.ephemeral) return
  logger.current.warn({}, NO_KEYS)
  if (logger.isSet || isWarned) return
  isWarned = true
  process.emitWarning?.(NO_KEYS, { type: 'PannierWarning', code: 'PANNIER_NO_KEYS' })
}

/** A session-era client whose id this instance cannot open learns only that its session is unknown; the operator, why. */
export function warnOfUnknownKey(logger: Logger): void {
  logger.warn(
    { code: 'STATE_UNKNOWN_KEY' },
    'A session id was sealed with a key that this instance does not have. Give all instances the same PANNIER_KEYS.',
  )
}

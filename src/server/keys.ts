import { createKeyring, ephemeralKeyring, type Keyring } from '../state/seal/index.ts'
import type { LoggerSlot } from './logger.ts'
import type { ServerOptions } from './options.ts'

/** The ring that was configured, or one of this process alone. */
export function keyringOf({ keys = process.env['PANNIER_KEYS'] }: ServerOptions): Keyring {
  if (keys === undefined || keys === '') return ephemeralKeyring()
  return typeof keys === 'string' ? createKeyring(keys) : keys
}

/** Warns where other instances cannot open what this one seals. */
export function sayKeys(keyring: Keyring, logger: LoggerSlot): void {
  if (!keyring.ephemeral) return
  logger.current.warn(
    {},
    'No keys are configured, so no other instance can open what this one seals, nor can this one after a restart. Set PANNIER_KEYS (pannier keys new).',
  )
}

/** The pins that `pannier gateway accept` changes, where the gateways of a file keep them. */
import { pinFile, type PinStore } from '../../gateway/catalog/index.ts'
import type { GatewayConfig } from '../../gateway/index.ts'
import { databaseFault, PINS_IN_POSTGRES, pinStoreOf, sharedPins } from '../../gateway/internal.ts'
import { postgres } from '../../postgres/internal.ts'
import { InputError } from '../exit.ts'

export interface PinFlags {
  /** A file, whatever the configuration says. */
  readonly pins?: string
  /** The database, whatever the configuration says. */
  readonly postgres?: string
}

export interface OpenedPins {
  readonly store: PinStore
  close(): Promise<void>
}

export function openPins(config: GatewayConfig, flags: PinFlags): OpenedPins {
  const close = async (): Promise<void> => {}
  if (flags.pins !== undefined) return { store: pinFile(flags.pins), close }
  if (config.settings.pins !== PINS_IN_POSTGRES) return { store: pinStoreOf(config, undefined), close }
  const url = flags.postgres ?? config.settings.postgres
  const fault =
    url === undefined ? 'is needed, because the definitions are pinned in the database.' : databaseFault(url)
  if (url === undefined || fault !== undefined) throw new InputError(`--postgres ${fault}`)
  const connection = postgres({ url })
  return { store: pinStoreOf(config, sharedPins(connection)), close: () => connection.close() }
}

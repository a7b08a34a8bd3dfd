export { acceptCommand, shellWord } from './advice.ts'
export { BACKEND_DEFAULTS, type BackendSettings } from './backendSettings.ts'
export { difference, restartSettings, reloadedSettings } from './difference.ts'
export {
  type AdminSettings,
  type CatalogueMode,
  databaseFault,
  GATEWAY_DEFAULTS,
  type GatewaySettings,
  PINS_IN_POSTGRES,
  STORE_IN_POSTGRES,
  type ViewSettings,
} from './gatewaySettings.ts'
export { dependOnPrincipal, headerFault, isTransportHeader, valuesFor, withoutPrincipal } from './callerValues.ts'
export {
  type BackendConfig,
  type GatewayConfig,
  gatewayConfigOf,
  namedServers,
  readGatewayConfig,
  type UnusableBackend,
} from './read.ts'
export type { ConsoleLoginSettings } from './gatewaySettings.ts'
export { channelOf } from './notifySettings.ts'
export { GatewayConfigError, problemText } from './source.ts'
export { type UsualPlace, usualPlaces } from './usualPlaces.ts'

export { BACKEND_DEFAULTS, type BackendSettings, type DefinitionPolicy } from './backendSettings.ts'
export { type ConfigDifference, difference } from './difference.ts'
export {
  type AdminSettings,
  type CatalogueMode,
  GATEWAY_DEFAULTS,
  type GatewaySettings,
  type PrincipalLimits,
  type PrincipalSettings,
  type ViewSettings,
} from './gatewaySettings.ts'
export { dependOnPrincipal, type HeadersFor, headersFor } from './headers.ts'
export { type ConfigProblem, GatewayConfigError, problemText } from './problem.ts'
export {
  type BackendConfig,
  type GatewayConfig,
  gatewayConfigOf,
  namedServers,
  readGatewayConfig,
  type UnusableBackend,
} from './read.ts'
export { type UsualPlace, usualPlaces } from './usualPlaces.ts'

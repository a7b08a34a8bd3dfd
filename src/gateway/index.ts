export type { CredentialsHook } from './backends/credentials.ts'
export type { Credentials } from './links/relayed.ts'
export type { AuthorizerHook } from './backends/login.ts'
export { createGateway, type Gateway } from './createGateway.ts'
export type { GatewayOptions } from './options.ts'
export {
  type BackendConfig,
  type BackendSettings,
  type GatewayConfig,
  GatewayConfigError,
  type GatewaySettings,
  gatewayConfigOf,
  readGatewayConfig,
} from './config/index.ts'
export { BACKEND_CODES, type BackendCode } from './errors.ts'
export { prometheusMetrics } from './telemetry/prometheus.ts'

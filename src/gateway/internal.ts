/** Exports for the program, not for users of the library. These names are not stable. */
export { createGateway } from './createGateway.ts'
export { databaseFault, problemText, readGatewayConfig, settingsOfStart } from './config/index.ts'
export { assertDatabaseUsable } from './database.ts'
export { assertPortFree } from './listeners.ts'
export { prometheusMetrics } from './telemetry/prometheus.ts'
export { listenWorkersAdmin } from './workers/aggregate.ts'
export { overdrawn, runGatewayWorker } from './workers/worker.ts'
export { Workers } from './workers/workers.ts'

/** What the program needs, and users of the library do not. Nothing is promised about these names. */
export { createGateway } from './createGateway.ts'
export { databaseFault, problemText, readGatewayConfig, settingsOfStart } from './config/index.ts'
export { assertPortFree } from './freePort.ts'
export { prometheusMetrics } from './telemetry/prometheus.ts'
export { listenWorkersAdmin } from './workers/admin.ts'
export { overdrawn } from './workers/shares.ts'
export { runGatewayWorker } from './workers/worker.ts'
export { Workers } from './workers/workers.ts'

/** What the gateway needs, and users of the library do not. Nothing is promised about these names. */
export { postgresBus } from './bus/eventBus.ts'
export { type PostgresConnection, postgres } from './database.ts'
export { assertPgInstalled } from './installed.ts'
export { postgresLedger } from './ledger.ts'
export { type PlacedCaller, type PlacedGateway, placementId, Placements, type Taking } from './placements.ts'
export { postgresRates } from './rates.ts'
export { type LeaseTimes, leaseTimes } from './leaseTimes.ts'

/** Exports for the gateway, not for users of the library. These names are not stable. */
export { postgresBus } from './bus/eventBus.ts'
export { assertPgInstalled, type PostgresConnection, postgres } from './database.ts'
export { postgresCarryStore } from './stores/carryStore.ts'
export { Impatience, impatientLedger, impatientStore, isDatabaseAnswer, within } from './stores/impatience.ts'
export { postgresLedger } from './stores/ledger.ts'
export {
  type ClaimFromOther,
  type OwnClaim,
  type PlacedCaller,
  type PlacedGateway,
  placementKey,
  Placements,
} from './placements.ts'
export { postgresRates } from './stores/rates.ts'
export { postgresSharedText, type SharedText } from './stores/sharedText.ts'
export { type LeaseTimes, leaseTimes } from '../tasks/internal.ts'
export { postgresTasks } from './tasks/engine.ts'

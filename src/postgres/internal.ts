/** What the gateway needs, and users of the library do not. Nothing is promised about these names. */
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

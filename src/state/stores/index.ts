/** Ledgers, carry stores and SQLite files for the other folders of this package. */
export { type CarryStore, type MemoryCarryStoreOptions, memoryCarryStore } from './carryStore.ts'
export { ExpiringMap, makeSweeper } from './expiry.ts'
export { lockFile, withFileLock } from './fileLock.ts'
export {
  assertClaim,
  assertId,
  type Claim,
  claimMissing,
  type Ledger,
  type MemoryLedgerOptions,
  memoryLedger,
} from './ledger.ts'
export { memoryRates, RATE_MS, type RateStore } from './rates.ts'
export { sqliteCarryStore } from './carryStore.ts'
export {
  inTransaction,
  isLocked,
  LOCK_WAIT_MS,
  openSqliteFile,
  retryWhileBusy,
  type SqliteFileOptions,
  type SqliteFormat,
  withoutWaiting,
  withStoreErrors,
} from './sqliteFile.ts'
export { sqliteLedger } from './ledger.ts'
export { type RunSql, sqlLedger, type SqlLedgerOptions } from './sqlLedger.ts'
export { lockPauseMs } from './sqliteWrites.ts'

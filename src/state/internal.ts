/** What other folders of this package need, and its users do not. Nothing is promised about these names. */
export { jsonText } from './jsonText.ts'
export { assertClaim, assertId, claimMissing } from './stores/ledger.ts'
export { inTransaction, openSqliteFile, type SqliteFormat, saying } from './stores/sqliteFile.ts'
export { makeSweeper } from './stores/expiry.ts'

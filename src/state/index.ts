export type { CarryStore } from './stores/carryStore.ts'
export type { Binding, Sealed } from './seal/claims.ts'
export { digestOf } from './digest.ts'
export { STATE_CODES, type StateCode, StateError } from './errors.ts'
export type { JarOptions } from './jar/options.ts'
export { defaultJarPath } from './jar/sqlite.ts'
export { type JarScopeOptions, jarServerOf } from './jar/serverKey.ts'
export type { JarProgram, JarServer } from './jar/store.ts'
export type {
  Jar,
  JarChange,
  JarContents,
  JarEntry,
  JarFilter,
  JarItem,
  JarKey,
  JarNews,
  JarOwner,
  JarStore,
} from './jar/store.ts'
export { createKeyring, ephemeralKeyring, type Keyring, newKey, rotationSteps } from './seal/keyring.ts'
export type { Claim, Ledger } from './stores/ledger.ts'
export { type MemoryCarryStoreOptions, memoryCarryStore } from './stores/carryStore.ts'
export { memoryJar } from './jar/memory.ts'
export { type MemoryLedgerOptions, memoryLedger } from './stores/ledger.ts'
export { createSealer, type SealContent, type SealOptions, type Sealer } from './seal/seal.ts'
export { sqliteCarryStore } from './stores/sqliteCarryStore.ts'
export type { SqliteFileOptions } from './stores/sqliteFile.ts'
export { type SqliteJarOptions, sqliteJar } from './jar/sqlite.ts'
export { sqliteLedger } from './stores/sqliteLedger.ts'
export type { Purpose } from './seal/token.ts'

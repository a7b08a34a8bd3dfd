export type { CarryStore } from './carryStore.ts'
export type { Binding, Sealed } from './claims.ts'
export { digestOf } from './digest.ts'
export { STATE_CODES, type StateCode, StateError } from './errors.ts'
export type { JarOptions } from './jarOptions.ts'
export { defaultJarPath } from './jarPath.ts'
export { type JarScopeOptions, jarServerOf } from './jarScope.ts'
export type { JarProgram, JarServer } from './jarServer.ts'
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
} from './jarStore.ts'
export { createKeyring, ephemeralKeyring, type Keyring, newKey, rotationSteps } from './keyring.ts'
export type { Claim, Ledger } from './ledger.ts'
export { type MemoryCarryStoreOptions, memoryCarryStore } from './memoryCarryStore.ts'
export { memoryJar } from './memoryJar.ts'
export { type MemoryLedgerOptions, memoryLedger } from './memoryLedger.ts'
export { createSealer, type SealContent, type SealOptions, type Sealer } from './seal.ts'
export { sqliteCarryStore } from './sqliteCarryStore.ts'
export type { SqliteFileOptions } from './sqliteFile.ts'
export { type SqliteJarOptions, sqliteJar } from './sqliteJar.ts'
export { sqliteLedger } from './sqliteLedger.ts'
export type { Purpose } from './token.ts'

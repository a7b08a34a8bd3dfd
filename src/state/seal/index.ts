/** Sealing for the other folders of this package. `pannier/state` lists the exports for users. */
export type { Binding, Sealed } from './claims.ts'
export { type Inspected, inspectToken } from './seal.ts'
export { createKeyring, ephemeralKeyring, type Keyring, keyringIn, newKey, rotationSteps } from './keyring.ts'
export { createMarks, MARK_CHARS, type Marks } from './marks.ts'
export {
  createSealer,
  DEFAULT_TTL_SECONDS,
  type SealContent,
  type RoundSealer,
  type SealOptions,
  type Sealer,
} from './seal.ts'
export type { Purpose } from './token.ts'
export { createRoundSealer } from '#runtime/state/seal/roundSealer'

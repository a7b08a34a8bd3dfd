/** Seals the states of rounds. Workers and browsers have roundSealer.worker.ts in its place, which may need time. */
import { createSealer, type RoundSealer, type SealOptions } from './seal.ts'

export const createRoundSealer: (options: SealOptions) => RoundSealer = createSealer

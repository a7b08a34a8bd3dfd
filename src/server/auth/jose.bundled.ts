/** Replaces jose.ts in bundles, which contain only static imports. */
import { createLocalJWKSet, createRemoteJWKSet, errors, jwtVerify } from 'jose'
import type { Jose } from './jose.ts'

export const loadJose = (): Jose => ({ createLocalJWKSet, createRemoteJWKSet, errors, jwtVerify })

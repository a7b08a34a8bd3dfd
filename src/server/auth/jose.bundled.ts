/** In place of jose.ts in bundles, which can only hold what is imported. */
import { createLocalJWKSet, createRemoteJWKSet, errors, jwtVerify } from 'jose'
import type { Jose } from './jose.ts'

export const loadJose = (): Jose => ({ createLocalJWKSet, createRemoteJWKSet, errors, jwtVerify })

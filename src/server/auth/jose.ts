/** The library that checks JWTs, loaded by the first `bearer()`. Bundles have jose.bundled.ts in place of this file. */
import { createRequire } from 'node:module'
import type * as jose from 'jose'

// Written out so that tools which collect the files of a deployment find the package.
const require = createRequire(import.meta.url)

/** The part of it that is used. */
export type Jose = Pick<typeof jose, 'createLocalJWKSet' | 'createRemoteJWKSet' | 'errors' | 'jwtVerify'>

export function loadJose(): Jose {
  return require('jose') as Jose
}

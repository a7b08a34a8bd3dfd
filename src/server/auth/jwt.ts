/**
 * Checks a JWT with jose: signature, issuer, audience, time. A failure is named by its reason; the token is never
 * shown.
 */
import { loadJose } from '#lazy/server/auth/jose'
import type { errors as joseErrors, JSONWebKeySet, JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import { isLocalHost } from '../localHost.ts'
import { shortened } from '../logger.ts'
import type { Jose } from './jose.ts'
import { type KeyLike, keySetAlgorithms, verificationKey } from './verificationKey.ts'

export interface TokenVerifierOptions {
  /** Who must have issued the token: exactly its `iss`. */
  issuer: string
  /** The required audience: the token's `aud` has this value, or one of these. */
  audience: string | readonly string[]
  /** The issuer's key set: its address, which is fetched and cached, or the set itself. */
  jwks?: string | URL | JSONWebKeySet
  /** One key instead of a set: a public key as PEM, JWK, KeyObject or CryptoKey. */
  key?: KeyLike
  /** The signature algorithms to accept. @default the asymmetric ones that fit the key */
  algorithms?: readonly string[]
  /** The `typ` a token's header must have, such as `at+jwt` (RFC 9068). @default any */
  typ?: string
  /** How far the issuer's clock may be from ours, in seconds. @default 5 */
  clockToleranceSeconds?: number
  /** Milliseconds since 1970. @default Date.now */
  clock?: () => number
}

export type TokenVerdict =
  | { readonly kind: 'valid'; readonly subject: string; readonly claims: JWTPayload }
  /** `reason` is for the log. `isForeign`: the token has a valid signature, but another audience or issuer. */
  | { readonly kind: 'invalid' | 'expired'; readonly reason: string; readonly isForeign?: boolean }
  /** The token could not be checked, for example because the key set could not be fetched. */
  | { readonly kind: 'unknown'; readonly cause: unknown }

/** Checks a token that is for the audience of the options, or for `resource`. */
export type VerifyToken = (token: string, resource?: string) => Promise<TokenVerdict>

export function tokenVerifier(options: TokenVerifierOptions): VerifyToken {
  const { clock = Date.now } = options
  const jose = loadJose()
  const { getKey, algorithms } = keysOf(jose, options)
  const rules = { ...rulesOf(options), algorithms: [...algorithms] }
  return async (token, resource) => {
    const audience = resource === undefined ? options.audience : [options.audience, resource].flat()
    const own = { ...rules, audience: typeof audience === 'string' ? audience : [...audience] }
    try {
      return judge(await verify(jose, token, getKey, { ...own, currentDate: new Date(clock()) }))
    } catch (error) {
      return explain(jose, error, own)
    }
  }
}

function rulesOf({ issuer, audience, typ, clockToleranceSeconds = 5 }: TokenVerifierOptions): JWTVerifyOptions {
  if (!issuer) throw new TypeError('bearer() needs the "issuer" whose tokens it accepts.')
  if (audience.length === 0) throw new TypeError('bearer() needs the "audience" a token must be for.')
  return {
    issuer,
    clockTolerance: clockToleranceSeconds,
    requiredClaims: ['sub', 'exp'],
    ...(typ !== undefined && { typ }),
  }
}

function keysOf(jose: Jose, options: TokenVerifierOptions): { getKey: JWTVerifyGetKey; algorithms: readonly string[] } {
  const { jwks, key, algorithms } = options
  if ((jwks === undefined) === (key === undefined)) throw new TypeError('bearer() needs either "jwks" or "key".')
  if (key !== undefined) {
    const verifying = verificationKey(key, algorithms)
    return { getKey: () => verifying.key, algorithms: verifying.algorithms }
  }
  const isAddress = typeof jwks === 'string' || jwks instanceof URL
  const getKey = isAddress
    ? jose.createRemoteJWKSet(keySetAddress(jwks))
    : jose.createLocalJWKSet(jwks as JSONWebKeySet)
  return { getKey, algorithms: keySetAlgorithms(algorithms) }
}

/** An attacker who changes the keys in transit can make tokens, so the key set is fetched over TLS. */
function keySetAddress(address: string | URL): URL {
  const url = new URL(address)
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLocalHost(url.hostname))) return url
  throw new TypeError('The address of the key set must be https.')
}

async function verify(
  jose: Jose,
  token: string,
  getKey: JWTVerifyGetKey,
  rules: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jose.jwtVerify(token, getKey, rules)).payload
  } catch (error) {
    if (error instanceof jose.errors.JWKSMultipleMatchingKeys) return verifyWithAny(jose, token, error, rules)
    throw error
  }
}

/** A token without a key id, from an issuer with several keys. */
async function verifyWithAny(
  { errors, jwtVerify }: Jose,
  token: string,
  keys: joseErrors.JWKSMultipleMatchingKeys,
  rules: JWTVerifyOptions,
): Promise<JWTPayload> {
  for await (const key of keys) {
    try {
      return (await jwtVerify(token, key, rules)).payload
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error
    }
  }
  throw new errors.JWSSignatureVerificationFailed()
}

function judge(claims: JWTPayload): TokenVerdict {
  const { sub } = claims
  if (typeof sub !== 'string' || sub === '') return { kind: 'invalid', reason: 'NO_SUBJECT' }
  return { kind: 'valid', subject: sub, claims }
}

// jose's codes for a key set that could not be fetched or read.
const KEYS_FAILED = new Set(['ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID', 'ERR_JOSE_GENERIC'])

function explain({ errors }: Jose, error: unknown, { audience, issuer }: JWTVerifyOptions): TokenVerdict {
  if (!(error instanceof errors.JOSEError) || KEYS_FAILED.has(error.code)) return { kind: 'unknown', cause: error }
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim, payload } = error
    if (claim === 'aud') return { kind: 'invalid', reason: wrongClaim(claim, payload.aud, audience), isForeign: true }
    if (claim === 'iss') return { kind: 'invalid', reason: wrongClaim(claim, payload.iss, issuer), isForeign: true }
    return { kind: 'invalid', reason: `its claim "${claim}": ${error.reason.replaceAll('_', ' ')}` }
  }
  return { kind: error instanceof errors.JWTExpired ? 'expired' : 'invalid', reason: error.code }
}

/** The audience and the issuer of a token are no secrets. */
function wrongClaim(claim: string, received: unknown, expected: unknown): string {
  const shown = (value: unknown): string => shortened(JSON.stringify(value) ?? 'missing')
  return `its claim "${claim}" is ${shown(received)}, and ${shown(expected)} is expected`
}

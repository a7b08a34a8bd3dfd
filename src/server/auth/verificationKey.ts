/** One key that verifies tokens, and the algorithms that fit it. A token cannot choose any other. */
import { createPublicKey, createSecretKey, KeyObject } from 'node:crypto'
import type { CryptoKey, JWK } from 'jose'

export interface VerificationKey {
  readonly key: CryptoKey | JWK | KeyObject
  readonly algorithms: readonly string[]
}

/** A public key; a shared secret only together with the algorithms it is for. A string is PEM. */
export type KeyLike = JWK | KeyObject | CryptoKey | Uint8Array | string

const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const EDWARDS = ['EdDSA', 'Ed25519']
const SECRET = ['HS256', 'HS384', 'HS512']
const CURVES: Readonly<Record<string, readonly string[]>> = {
  prime256v1: ['ES256'],
  secp384r1: ['ES384'],
  secp521r1: ['ES512'],
}

/** The algorithms that need only a public key; neither `none` nor those with a shared secret. */
const ASYMMETRIC: readonly string[] = [...RSA, ...Object.values(CURVES).flat(), ...EDWARDS]

export function verificationKey(given: KeyLike, wanted: readonly string[] | undefined): VerificationKey {
  const key = readKey(given)
  if (key.type === 'private') throw notPublic()
  if (key.type === 'secret' && wanted === undefined) {
    throw new TypeError('Everyone who has a shared secret can make tokens; name its "algorithms" to accept that.')
  }
  const fitting = key instanceof KeyObject ? algorithmsOf(key) : webAlgorithmsOf(key)
  const algorithms = wanted ?? fitting
  const unfit = algorithms.find((algorithm) => !fitting.includes(algorithm))
  if (unfit !== undefined) throw new TypeError(`The algorithm ${unfit} does not fit the key.`)
  return { key: keyForJose(key), algorithms }
}

/** The algorithms that tokens verified by a key set may use. */
export function keySetAlgorithms(wanted: readonly string[] = ASYMMETRIC): readonly string[] {
  const unfit = wanted.find((algorithm) => !ASYMMETRIC.includes(algorithm))
  if (unfit !== undefined) throw new TypeError(`The algorithm ${unfit} cannot be used with a public key set.`)
  return wanted
}

function readKey(given: KeyLike): KeyObject | CryptoKey {
  if (given instanceof KeyObject) return given
  if (given instanceof Uint8Array) return createSecretKey(given)
  if (typeof given === 'string') return readPublic(given.includes('PRIVATE KEY'), () => createPublicKey(given))
  if (isCryptoKey(given)) return given
  if (given.kty === 'oct') return createSecretKey(Buffer.from(given.k ?? '', 'base64url'))
  return readPublic('d' in given, () => createPublicKey({ key: given, format: 'jwk' }))
}

function readPublic(isPrivate: boolean, create: () => KeyObject): KeyObject {
  if (isPrivate) throw notPublic()
  try {
    return create()
  } catch {
    // Without the cause, whose message may contain the key.
    throw new TypeError('The key cannot be read; give a public key as PEM, JWK, KeyObject or CryptoKey.')
  }
}

/** Workers have KeyObjects, too, but jose cannot use their public ones. It takes a JWK in every runtime. */
function keyForJose(key: KeyObject | CryptoKey): VerificationKey['key'] {
  return key instanceof KeyObject && key.type === 'public' ? key.export({ format: 'jwk' }) : key
}

function isCryptoKey(given: JWK | CryptoKey): given is CryptoKey {
  return Object.prototype.toString.call(given) === '[object CryptoKey]'
}

function algorithmsOf({ type, asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly string[] {
  if (type === 'secret') return SECRET
  switch (asymmetricKeyType) {
    case 'rsa':
      if ((asymmetricKeyDetails?.modulusLength ?? 0) < 2048) throw new TypeError('The RSA key has less than 2048 bits.')
      return RSA
    case 'ec':
      return CURVES[asymmetricKeyDetails?.namedCurve ?? ''] ?? unsupported()
    case 'ed25519':
      return EDWARDS
    default:
      return unsupported()
  }
}

/** A CryptoKey is made for one algorithm. */
function webAlgorithmsOf({ algorithm }: CryptoKey): readonly string[] {
  const { name, hash, namedCurve } = algorithm as { name: string; hash?: { name: string }; namedCurve?: string }
  const bits = (hash?.name ?? namedCurve)?.replace(/\D/g, '') ?? ''
  switch (name) {
    case 'RSASSA-PKCS1-v1_5':
      return [`RS${bits}`]
    case 'RSA-PSS':
      return [`PS${bits}`]
    case 'ECDSA':
      return [`ES${bits === '521' ? '512' : bits}`]
    case 'Ed25519':
      return EDWARDS
    case 'HMAC':
      return [`HS${bits}`]
    default:
      return unsupported()
  }
}

function notPublic(): TypeError {
  return new TypeError('bearer() verifies tokens; give it the public key.')
}

function unsupported(): never {
  throw new TypeError('That kind of key cannot verify tokens; use RSA, P-256, P-384, P-521 or Ed25519.')
}

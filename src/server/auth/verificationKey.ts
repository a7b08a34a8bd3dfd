/** One key that verifies tokens, and the algorithms that fit it. A token cannot choose any other. */
import type { KeyObject } from 'node:crypto'
import type { CryptoKey, JWK } from 'jose'
import { findNodeModule, fromBase64url, nodeModule } from '../../protocol/index.ts'

export interface VerificationKey {
  readonly key: CryptoKey | JWK | KeyObject | Uint8Array
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
  const { key, isSecret = false, fitting } = readKey(given)
  if (isSecret && wanted === undefined) {
    throw new TypeError('Everyone who has a shared secret can make tokens; name its "algorithms" to accept that.')
  }
  const algorithms = wanted ?? fitting
  const unfit = algorithms.find((algorithm) => !fitting.includes(algorithm))
  if (unfit !== undefined) throw new TypeError(`The algorithm ${unfit} does not fit the key.`)
  return { key, algorithms }
}

/** The algorithms that tokens verified by a key set may use. */
export function keySetAlgorithms(wanted: readonly string[] = ASYMMETRIC): readonly string[] {
  const unfit = wanted.find((algorithm) => !ASYMMETRIC.includes(algorithm))
  if (unfit !== undefined) throw new TypeError(`The algorithm ${unfit} cannot be used with a public key set.`)
  return wanted
}

interface ReadKey {
  readonly key: VerificationKey['key']
  readonly isSecret?: boolean
  /** The algorithms that it can be used with. */
  readonly fitting: readonly string[]
}

/** PEM and KeyObjects need Node; every runtime reads the others. */
function readKey(given: KeyLike): ReadKey {
  if (given instanceof Uint8Array) return { key: given, isSecret: true, fitting: SECRET }
  if (typeof given === 'string')
    return readPublic(given.includes('PRIVATE KEY'), () => nodeModule('node:crypto').createPublicKey(given))
  if (isKeyObject(given)) return keyOf(given)
  if (isCryptoKey(given)) {
    if (given.type === 'private') throw notPublic()
    return { key: given, isSecret: given.type === 'secret', fitting: webAlgorithmsOf(given) }
  }
  if (given.kty === 'oct') return { key: fromBase64url(given.k ?? ''), isSecret: true, fitting: SECRET }
  const crypto = findNodeModule('node:crypto')
  if (crypto !== undefined) return readPublic('d' in given, () => crypto.createPublicKey({ key: given, format: 'jwk' }))
  if ('d' in given) throw notPublic()
  return { key: given, fitting: jwkAlgorithmsOf(given) }
}

function readPublic(isPrivate: boolean, create: () => KeyObject): ReadKey {
  if (isPrivate) throw notPublic()
  nodeModule('node:crypto') // throws its own sentence where it is missing
  let key: KeyObject
  try {
    key = create()
  } catch {
    // Without the cause, whose message may contain the key.
    throw new TypeError('The key cannot be read; give a public key as PEM, JWK, KeyObject or CryptoKey.')
  }
  return keyOf(key)
}

function isKeyObject(given: object): given is KeyObject {
  const crypto = findNodeModule('node:crypto')
  return crypto !== undefined && given instanceof crypto.KeyObject
}

/** Workers have KeyObjects, too, but jose cannot use their public ones. It takes a JWK in every runtime. */
function keyOf(key: KeyObject): ReadKey {
  if (key.type === 'private') throw notPublic()
  if (key.type === 'secret') return { key, isSecret: true, fitting: SECRET }
  const fitting = algorithmsOf(key)
  return { key: key.export({ format: 'jwk' }), fitting }
}

function isCryptoKey(given: JWK | CryptoKey): given is CryptoKey {
  return Object.prototype.toString.call(given) === '[object CryptoKey]'
}

function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly string[] {
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

const WEB_CURVES: Readonly<Record<string, readonly string[]>> = {
  'P-256': ['ES256'],
  'P-384': ['ES384'],
  'P-521': ['ES512'],
  Ed25519: EDWARDS,
}
/** A modulus of 2048 bits, in base64url. */
const RSA_CHARS = 342

function jwkAlgorithmsOf({ kty, crv = '', n = '' }: JWK): readonly string[] {
  if (kty !== 'RSA') return WEB_CURVES[crv] ?? unsupported()
  if (n.length < RSA_CHARS) throw new TypeError('The RSA key has less than 2048 bits.')
  return RSA
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

/**
 * Seals a body into a token that only this keyring opens, for one purpose, one audience and one binding, until it
 * expires.
 *
 * A sealed body is encrypted and authenticated; only its length is visible. It is never compressed: the length would then reveal
 * whether text that the peer chose occurs in the rest (as in CRIME).
 */
import { assertOptionNames, type OptionNames } from '../../protocol/index.ts'
import { type Binding, parseClaims, readClaims, type Sealed, writeClaims } from './claims.ts'
import { decrypt, encrypt, makeTokenKey, type NonceSource, type Purpose, randomNonces, readHeader } from './token.ts'
import { StateError } from '../errors.ts'
import { type Keyring, keysOf } from './keyring.ts'

/** The default life of a state: the default of `ttlSeconds` for sealers and servers. */
export const DEFAULT_TTL_SECONDS = 3600

export interface SealOptions {
  /** Its first key seals, and all its keys open. */
  keyring: Keyring
  /** The name of the server, the same on every instance. A token opens only for the same audience. */
  audience: string
  /** How long a token can be opened, in seconds. @default 3600 */
  ttlSeconds?: number
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
  /** The maximum size of a token, in bytes, for sealing and for opening. @default 65536 */
  maxBytes?: number
}

/** The content of a token that is to be sealed. */
export interface SealContent {
  /** Any JSON value. */
  body: unknown
  /** The id of this token, which a ledger can claim to make it single-use. */
  id: string
  /** @default 0 */
  round?: number
  /** How long this token can be opened, in seconds. @default the sealer's ttlSeconds */
  ttlSeconds?: number
}

/** A Sealer that may need time, as WebCrypto does. */
export interface RoundSealer {
  seal(purpose: Purpose, binding: Binding, content: SealContent): string | Promise<string>
  open(purpose: Purpose, binding: Binding, token: string): Sealed | Promise<Sealed>
}

/** Seals bodies, and opens them where purpose and binding are the same. */
export interface Sealer {
  seal(purpose: Purpose, binding: Binding, content: SealContent): string
  open(purpose: Purpose, binding: Binding, token: string): Sealed
}

export const SEAL_OPTIONS: OptionNames<SealOptions> = {
  keyring: true,
  audience: true,
  ttlSeconds: true,
  clock: true,
  maxBytes: true,
}

/** Seals and opens bodies for one audience, with the keys of a key ring. */
export function createSealer(options: SealOptions): Sealer {
  assertOptionNames(options, SEAL_OPTIONS, 'createSealer')
  return createSealerWith(options, randomNonces())
}

/** `createSealer` with the nonces passed in, so that test vectors can fix them. Private to this folder. */
export function createSealerWith(options: SealOptions, nextNonce: NonceSource): Sealer {
  const { keyring, audience, ttlSeconds, clock, maxBytes } = withDefaults(options)
  const keys = keysOf(keyring)
  const sealing = makeTokenKey(keys[0])
  const opening = new Map(keys.map((key) => [key.tag, makeTokenKey(key)]))

  return {
    seal(purpose, binding, content) {
      const text = writeClaims(audience, binding, stamp(content, ttlSeconds, clock()))
      const token = encrypt(sealing, purpose, nextNonce(), text)
      if (token.length > maxBytes) throw tooLarge(token.length, maxBytes)
      return token
    },

    open(purpose, binding, token) {
      assertTokenSize(token, maxBytes)
      return readClaims(decrypt(opening, purpose, token), audience, binding, clock())
    },
  }
}

export function withDefaults(options: SealOptions): Required<SealOptions> {
  const { keyring, audience, ttlSeconds = DEFAULT_TTL_SECONDS, clock = Date.now, maxBytes = 65_536 } = options
  if (typeof audience !== 'string' || audience === '') {
    throw new StateError('STATE_OPTION', 'Give the sealer an audience: the name all instances of this server share.')
  }
  if (!(maxBytes > 0)) throw new StateError('STATE_OPTION', 'maxBytes is a positive number of bytes.')
  assertTtl(ttlSeconds)
  return { keyring, audience, ttlSeconds, clock, maxBytes }
}

/** Adds the times to a body: issued at is rounded down and expires at is rounded up, to whole seconds. */
export function stamp(content: SealContent, defaultTtlSeconds: number, nowMs: number): Sealed {
  const { body, id, round = 0, ttlSeconds = defaultTtlSeconds } = content
  assertTtl(ttlSeconds)
  if (typeof id !== 'string' || !Number.isSafeInteger(round) || round < 0) {
    throw new StateError('STATE_OPTION', 'A seal needs an id that is a string and a round that is a whole number.')
  }
  const now = nowMs / 1000
  return { body, id, round, issuedAt: Math.floor(now), expiresAt: Math.ceil(now + ttlSeconds) }
}

export function assertTokenSize(token: string, maxBytes: number): void {
  if (typeof token !== 'string')
    throw new StateError('STATE_MALFORMED', 'State is a string; send back what was received.')
  if (token.length > maxBytes) {
    throw new StateError('STATE_TOO_LARGE', `State has ${token.length} bytes; this server opens at most ${maxBytes}.`)
  }
}

export function tooLarge(bytes: number, limit: number): StateError {
  const advice = 'store large results elsewhere and keep a reference here, raise maxBytes, or carry state in a store'
  return new StateError('STATE_TOO_LARGE', `State would have ${bytes} bytes, the limit is ${limit}: ${advice}.`)
}

function assertTtl(ttlSeconds: number): void {
  if (Number.isFinite(ttlSeconds) && ttlSeconds > 0) return
  throw new StateError('STATE_OPTION', 'ttlSeconds is a positive, finite number of seconds.')
}

/** All claims of a token. */
export interface Inspected extends Sealed {
  readonly purpose: Purpose
  /** The id of the key that sealed it. */
  readonly keyId: string
  readonly audience: string
  readonly binding: Binding
}

/**
 * Reads a token to find an error: all its claims, also those of another request or time. Servers never use this; `open` checks
 * every claim.
 */
export function inspectToken(keyring: Keyring, token: string): Inspected {
  const { purpose, keyTag } = readHeader(token)
  const key = keysOf(keyring).find(({ tag }) => tag === keyTag)
  if (key === undefined) throw new StateError('STATE_UNKNOWN_KEY', unknownKey(keyTag, keyring))
  const keys = new Map([[key.tag, makeTokenKey(key)]])
  const claims = parseClaims(decrypt(keys, purpose, token))
  return { purpose, keyId: key.id, ...claims }
}

function unknownKey(tag: number, { ids }: Keyring): string {
  const sealedBy = tag.toString(16).padStart(8, '0')
  return `This was sealed with the key ${sealedBy}, and the keys given are ${ids.join(', ')}; give the keys of that server.`
}

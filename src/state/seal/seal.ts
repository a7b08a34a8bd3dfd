/**
 * Seals a body into a token that only this keyring opens, for one purpose, one audience and one binding, for a while.
 *
 * A sealed body is secret and cannot be changed; its length shows. Where a body holds both a secret and text the peer
 * chose, deflating lets the length hint at the secret: set `deflateAboveBytes: Infinity` there.
 */
import { type Binding, readClaims, type Sealed, writeClaims } from './claims.ts'
import {
  decrypt,
  deflate,
  encrypt,
  inflate,
  makeTokenKey,
  type NonceSource,
  type Plain,
  type Purpose,
  randomNonces,
} from './token.ts'
import { StateError } from '../errors.ts'
import { type Keyring, keysOf } from './keyring.ts'

/** How long a state can be opened when nothing else is said: the default of `ttlSeconds`. */
export const DEFAULT_TTL_SECONDS = 3600

// A body may inflate to this many times the token limit; beyond, it is refused when sealed and when opened.
const INFLATED_RATIO = 16

export interface SealOptions {
  /** Seals with its first key and opens with any. */
  keyring: Keyring
  /** The server's name, the same on every instance: a seal opens only where it is equal. */
  audience: string
  /** How long a seal can be opened, in seconds. @default 3600 */
  ttlSeconds?: number
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
  /** Bodies above this many bytes are deflated, when that makes them smaller. @default 1024 */
  deflateAboveBytes?: number
  /** The longest token made or opened, in bytes. @default 65536 */
  maxBytes?: number
  /** The longest body before it is deflated, and after it is inflated, in bytes. @default 16 times maxBytes */
  maxBodyBytes?: number
}

/** What goes into a seal. */
export interface SealContent {
  /** Any JSON value. */
  body: unknown
  /** Names this seal; a single-use ledger can claim it. */
  id: string
  /** @default 0 */
  round?: number
  /** How long this seal can be opened, in seconds. @default the sealer's ttlSeconds */
  ttlSeconds?: number
}

export interface Sealer {
  seal(purpose: Purpose, binding: Binding, content: SealContent): string
  open(purpose: Purpose, binding: Binding, token: string): Sealed
}

export function createSealer(options: SealOptions): Sealer {
  return createSealerWith(options, randomNonces())
}

/** `createSealer` with the nonces passed in, so that test vectors can fix them. Private to this folder. */
export function createSealerWith(options: SealOptions, nextNonce: NonceSource): Sealer {
  const { keyring, audience, ttlSeconds, clock, deflateAboveBytes, maxBytes, maxBodyBytes } = withDefaults(options)
  const keys = keysOf(keyring)
  const sealing = makeTokenKey(keys[0])
  const opening = new Map(keys.map((key) => [key.tag, makeTokenKey(key)]))
  const maxInflatedBytes = maxBodyBytes

  return {
    seal(purpose, binding, content) {
      const text = writeClaims(audience, binding, stamp(content, ttlSeconds, clock()))
      const token = encrypt(sealing, purpose, nextNonce(), pack(text, deflateAboveBytes, maxInflatedBytes))
      if (token.length > maxBytes) throw tooLarge(token.length, maxBytes)
      return token
    },

    open(purpose, binding, token) {
      assertTokenSize(token, maxBytes)
      const text = unpack(decrypt(opening, purpose, token), maxInflatedBytes)
      return readClaims(text, audience, binding, clock())
    },
  }
}

function withDefaults(options: SealOptions): Required<SealOptions> {
  const { keyring, audience, ttlSeconds = DEFAULT_TTL_SECONDS, clock = Date.now } = options
  const { deflateAboveBytes = 1024, maxBytes = 65_536, maxBodyBytes = maxBytes * INFLATED_RATIO } = options
  if (typeof audience !== 'string' || audience === '') {
    throw new StateError('STATE_OPTION', 'Give the sealer an audience: the name all instances of this server share.')
  }
  if (!(maxBytes > 0)) throw new StateError('STATE_OPTION', 'maxBytes is a positive number of bytes.')
  assertTtl(ttlSeconds)
  return { keyring, audience, ttlSeconds, clock, deflateAboveBytes, maxBytes, maxBodyBytes }
}

/** Puts the times on a body. Issued at is rounded down and expires at up, to whole seconds. */
function stamp(content: SealContent, defaultTtlSeconds: number, nowMs: number): Sealed {
  const { body, id, round = 0, ttlSeconds = defaultTtlSeconds } = content
  assertTtl(ttlSeconds)
  if (typeof id !== 'string' || !Number.isSafeInteger(round) || round < 0) {
    throw new StateError('STATE_OPTION', 'A seal needs an id that is a string and a round that is a whole number.')
  }
  const now = nowMs / 1000
  return { body, id, round, issuedAt: Math.floor(now), expiresAt: Math.ceil(now + ttlSeconds) }
}

function pack(text: string, deflateAboveBytes: number, maxInflatedBytes: number): Plain {
  const bytes = Buffer.from(text)
  if (bytes.length > maxInflatedBytes) throw tooLarge(bytes.length, maxInflatedBytes)
  const small = bytes.length > deflateAboveBytes ? deflate(bytes) : undefined
  return small ? { content: small, deflated: true } : { content: bytes, deflated: false }
}

function unpack({ content, deflated }: Plain, maxInflatedBytes: number): string {
  return (deflated ? inflate(content, maxInflatedBytes) : content).toString()
}

function assertTokenSize(token: string, maxBytes: number): void {
  if (typeof token !== 'string')
    throw new StateError('STATE_MALFORMED', 'State is a string; send back what was received.')
  if (token.length > maxBytes) {
    throw new StateError('STATE_TOO_LARGE', `State has ${token.length} bytes; this server opens at most ${maxBytes}.`)
  }
}

function tooLarge(bytes: number, limit: number): StateError {
  const advice = 'keep large results elsewhere and put a reference here, raise maxBytes, or carry state in a store'
  return new StateError('STATE_TOO_LARGE', `State would have ${bytes} bytes, the limit is ${limit}: ${advice}.`)
}

function assertTtl(ttlSeconds: number): void {
  if (Number.isFinite(ttlSeconds) && ttlSeconds > 0) return
  throw new StateError('STATE_OPTION', 'ttlSeconds is a positive, finite number of seconds.')
}

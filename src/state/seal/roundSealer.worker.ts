/** In place of roundSealer.ts where Node's cipher may be missing: the same tokens, by WebCrypto. */
import { assertOptionNames, utf8Of, utf8Text } from '../../protocol/index.ts'
import { readClaims, writeClaims } from './claims.ts'
import { keysOf, type RingKey } from './keyring.ts'
import {
  assertTokenSize,
  type RoundSealer,
  SEAL_OPTIONS,
  type SealOptions,
  stamp,
  tooLarge,
  withDefaults,
} from './seal.ts'
import {
  cipherInput,
  type CipherInput,
  makeTokenKey,
  type NonceSource,
  randomNonces,
  readSealed,
  type SealedParts,
  tampered,
  tokenOf,
} from './token.ts'

export function createRoundSealer(options: SealOptions): RoundSealer {
  return createWebSealer(options, randomNonces())
}

/** With the nonces passed in, so that test vectors can fix them. */
export function createWebSealer(options: SealOptions, nextNonce: NonceSource): RoundSealer {
  assertOptionNames(options, SEAL_OPTIONS, 'createSealer')
  const { keyring, audience, ttlSeconds, clock, maxBytes } = withDefaults(options)
  const keys = keysOf(keyring)
  const sealing = makeTokenKey(keys[0])
  const opening = new Map(keys.map((key) => [key.tag, makeTokenKey(key)]))

  return {
    async seal(purpose, binding, content) {
      const bytes = utf8Of(writeClaims(audience, binding, stamp(content, ttlSeconds, clock())))
      const input = cipherInput(sealing, purpose, nextNonce())
      const token = tokenOf(input, await encrypted(keys[0], input, bytes))
      if (token.length > maxBytes) throw tooLarge(token.length, maxBytes)
      return token
    },

    async open(purpose, binding, token) {
      assertTokenSize(token, maxBytes)
      const text = await decrypted(readSealed(opening, purpose, token))
      return readClaims(text, audience, binding, clock())
    },
  }
}

async function encrypted(key: RingKey, input: CipherInput, content: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.encrypt(algorithm(input), await webKey(key), content))
}

async function decrypted(parts: SealedParts): Promise<string> {
  const { ringKey, sealed } = parts
  const key = await webKey(ringKey)
  try {
    return utf8Text(new Uint8Array(await crypto.subtle.decrypt(algorithm(parts), key, sealed)))
  } catch {
    throw tampered()
  }
}

function algorithm({ nonce, associatedData }: CipherInput): AesGcmParams {
  return { name: 'AES-GCM', iv: nonce, additionalData: associatedData }
}

const webKeys = new WeakMap<RingKey, Promise<CryptoKey>>()

function webKey(ringKey: RingKey): Promise<CryptoKey> {
  const known = webKeys.get(ringKey)
  if (known !== undefined) return known
  const { secret } = ringKey
  const raw = secret instanceof Uint8Array ? secret : Uint8Array.from(secret.export())
  const key = crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['encrypt', 'decrypt'])
  webKeys.set(ringKey, key)
  return key
}

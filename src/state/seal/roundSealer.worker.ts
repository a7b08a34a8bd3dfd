/** In place of roundSealer.ts where Node's cipher may be missing: the same tokens, by WebCrypto. */
import { assertOptionNames, joined, utf8Of, utf8Text } from '../../protocol/index.ts'
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
  inflatedTooLarge,
  isWorthwhile,
  makeTokenKey,
  type NonceSource,
  notInflatable,
  type Plain,
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
  const { keyring, audience, ttlSeconds, clock, deflateAboveBytes, maxBytes, maxBodyBytes } = withDefaults(options)
  const keys = keysOf(keyring)
  const sealing = makeTokenKey(keys[0])
  const opening = new Map(keys.map((key) => [key.tag, makeTokenKey(key)]))

  return {
    async seal(purpose, binding, content) {
      const bytes = utf8Of(writeClaims(audience, binding, stamp(content, ttlSeconds, clock())))
      if (bytes.length > maxBodyBytes) throw tooLarge(bytes.length, maxBodyBytes)
      const small = bytes.length > deflateAboveBytes ? await piped(bytes, new CompressionStream('deflate-raw')) : bytes
      const deflated = isWorthwhile(small, bytes)
      const input = cipherInput(sealing, purpose, nextNonce(), deflated)
      const token = tokenOf(input, await encrypted(keys[0], input, deflated ? small : bytes))
      if (token.length > maxBytes) throw tooLarge(token.length, maxBytes)
      return token
    },

    async open(purpose, binding, token) {
      assertTokenSize(token, maxBytes)
      const plain = await decrypted(readSealed(opening, purpose, token))
      return readClaims(await unpacked(plain, maxBodyBytes), audience, binding, clock())
    },
  }
}

async function encrypted(key: RingKey, input: CipherInput, content: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.encrypt(algorithm(input), await webKey(key), content))
}

async function decrypted(parts: SealedParts): Promise<Plain> {
  const { ringKey, sealed, deflated } = parts
  const key = await webKey(ringKey)
  try {
    const content = await crypto.subtle.decrypt(algorithm(parts), key, sealed)
    return { content: new Uint8Array(content), deflated }
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

async function unpacked({ content, deflated }: Plain, maxBytes: number): Promise<string> {
  if (!deflated) return utf8Text(content)
  return utf8Text(await piped(content, new DecompressionStream('deflate-raw'), maxBytes))
}

/** What a stream makes of bytes. It is read piece by piece, so that a small input cannot become a large output. */
async function piped(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
  maxBytes = Infinity,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw notInflatable()
    })
    if (done) return joined(chunks)
    length += value.length
    if (length > maxBytes) {
      void reader.cancel()
      throw inflatedTooLarge()
    }
    chunks.push(value)
  }
}

/**
 * The bytes of a token, and its cipher, AES-256-GCM.
 *
 *   offset  0        1      2       6        18           end-16
 *           version  flags  key id  nonce    ciphertext   tag
 *
 * Invariants:
 * - flags: bits 1 to 4 number the purpose, the rest are zero;
 * - the associated data is version, flags, key id and the purpose's name, so every byte of a token is authenticated;
 * - a token has exactly one encoding as text;
 * - nonces are random: change the sealing key before 2^32 seals (NIST SP 800-38D, 8.3).
 */
import { joined, nodeModule, randomBytes, toBase64, utf8Of } from '../../protocol/index.ts'
import { StateError } from '../errors.ts'
import { readBase64url, type RingKey } from './keyring.ts'

/** The purpose of a token. A token for one purpose never opens for another. */
export type Purpose = 'request' | 'push' | 'session' | 'stream' | 'ticket' | 'question' | 'instance' | 'link' | 'login'

// The index of a purpose is its number in the flags, so new purposes are added at the end only.
const PURPOSES: readonly Purpose[] = [
  'request',
  'push',
  'session',
  'stream',
  'ticket',
  'question',
  'instance',
  'link',
  'login',
]

const VERSION = 1
const HEADER_BYTES = 6
const NONCE_BYTES = 12
const TAG_BYTES = 16
const CONTENT_AT = HEADER_BYTES + NONCE_BYTES
const CIPHER = 'aes-256-gcm'
const CIPHER_OPTIONS = { authTagLength: TAG_BYTES }
const NONCE_BATCH = 256

/** A key with the associated data of every purpose, computed once. */
interface TokenKey {
  readonly ringKey: RingKey
  readonly associatedData: readonly Uint8Array<ArrayBuffer>[]
}

/** The input of the cipher beside the key and the content. */
export interface CipherInput {
  readonly nonce: Uint8Array<ArrayBuffer>
  readonly associatedData: Uint8Array<ArrayBuffer>
}

/** A token as it was read. The tag is the end of `sealed`. */
export interface SealedParts extends CipherInput {
  readonly ringKey: RingKey
  readonly sealed: Uint8Array<ArrayBuffer>
}

export function makeTokenKey(ringKey: RingKey): TokenKey {
  const { tag } = ringKey
  const associatedData = PURPOSES.map((purpose, number) => {
    const header = [VERSION, number << 1, tag >>> 24, (tag >>> 16) & 255, (tag >>> 8) & 255, tag & 255]
    return joined([Uint8Array.from(header), utf8Of(purpose)])
  })
  return { ringKey, associatedData }
}

export function encrypt(key: TokenKey, purpose: Purpose, nonce: Uint8Array<ArrayBuffer>, text: string): string {
  const input = cipherInput(key, purpose, nonce)
  const cipher = nodeModule('node:crypto').createCipheriv(CIPHER, key.ringKey.secret, nonce, CIPHER_OPTIONS)
  cipher.setAAD(input.associatedData)
  const content = cipher.update(text, 'utf8')
  cipher.final() // returns nothing: GCM is a stream mode
  return tokenOf(input, content, cipher.getAuthTag())
}

export function decrypt(keys: TokenKeys, purpose: Purpose, token: string): string {
  const { ringKey, nonce, associatedData, sealed } = readSealed(keys, purpose, token)
  const decipher = nodeModule('node:crypto').createDecipheriv(CIPHER, ringKey.secret, nonce, CIPHER_OPTIONS)
  decipher.setAAD(associatedData)
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  const content = decipher.update(sealed.subarray(0, -TAG_BYTES))
  try {
    decipher.final()
  } catch {
    throw tampered()
  }
  return content.toString()
}

export function tampered(): StateError {
  return new StateError('STATE_TAMPERED', 'State failed verification; send it back exactly as it was received.')
}

/** The text of a token. */
export function tokenOf({ nonce, associatedData }: CipherInput, ...sealed: readonly Uint8Array[]): string {
  return toBase64(joined([associatedData.subarray(0, HEADER_BYTES), nonce, ...sealed]), 'base64url')
}

export type TokenKeys = ReadonlyMap<number, TokenKey>

/** Reads a token for this purpose, and finds its key. */
export function readSealed(keys: TokenKeys, purpose: Purpose, token: string): SealedParts {
  const { bytes, number, keyTag } = readToken(token)
  const key = keys.get(keyTag)
  if (!key)
    throw unknownKey(
      keyTag,
      [...keys.values()].map(({ ringKey }) => ringKey.id),
    )
  if (number !== PURPOSES.indexOf(purpose)) {
    throw new StateError('STATE_PURPOSE', `State was sealed for another purpose than ${purpose}.`)
  }
  return {
    ringKey: key.ringKey,
    nonce: bytes.subarray(HEADER_BYTES, CONTENT_AT),
    associatedData: associatedDataFor(key, purpose),
    sealed: bytes.subarray(CONTENT_AT),
  }
}

export function cipherInput(key: TokenKey, purpose: Purpose, nonce: Uint8Array<ArrayBuffer>): CipherInput {
  return { nonce, associatedData: associatedDataFor(key, purpose) }
}

/** The parts of a token that can be read without a key. */
export function readHeader(token: string): { purpose: Purpose; keyTag: number } {
  const { number, keyTag } = readToken(token)
  // readToken has checked that there is such a purpose.
  return { purpose: PURPOSES[number] as Purpose, keyTag }
}

/** `number`: that of the purpose. */
function readToken(token: string): { bytes: Uint8Array<ArrayBuffer>; number: number; keyTag: number } {
  const bytes = readBase64url(token)
  const [version, flags = 0, ...tag] = bytes?.subarray(0, HEADER_BYTES) ?? []
  const number = flags / 2
  const sound = version === VERSION && Number.isInteger(number) && number < PURPOSES.length
  if (bytes === undefined || bytes.length <= CONTENT_AT + TAG_BYTES || !sound)
    throw new StateError('STATE_MALFORMED', 'State is not a token of ours; send it back exactly as it was received.')
  return { bytes, number, keyTag: tag.reduce((sum, byte) => sum * 256 + byte, 0) }
}

function associatedDataFor(key: TokenKey, purpose: Purpose): Uint8Array<ArrayBuffer> {
  const associatedData = key.associatedData[PURPOSES.indexOf(purpose)]
  if (associatedData) return associatedData
  throw new StateError('STATE_OPTION', `The purpose of a seal is one of ${PURPOSES.join(', ')}.`)
}

export type NonceSource = () => Uint8Array<ArrayBuffer>

/** Random 96-bit nonces, made in batches: one call for 3 KB costs about as much as one for 12 bytes. */
export function randomNonces(): NonceSource {
  let batch = new Uint8Array()
  let next = 0
  return () => {
    if (next === batch.length) {
      batch = randomBytes(NONCE_BYTES * NONCE_BATCH)
      next = 0
    }
    next += NONCE_BYTES
    return batch.subarray(next - NONCE_BYTES, next)
  }
}

/** The likeliest cause is an instance with other keys, so the sentence names the ids, which are no secrets. */
function unknownKey(tag: number, ids: readonly string[]): StateError {
  const sealedBy = tag.toString(16).padStart(8, '0')
  const cause = `State was sealed with the key ${sealedBy}, and the keys here are ${ids.join(', ')}`
  return new StateError(
    'STATE_UNKNOWN_KEY',
    `${cause}. Give all instances the same PANNIER_KEYS; or was that key retired?`,
  )
}

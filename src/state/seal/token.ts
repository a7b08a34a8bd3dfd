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
import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'
import { StateError } from '../errors.ts'
import { readBase64url, type RingKey } from './keyring.ts'

/** What a token is for. A token for one purpose never opens for another. */
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
  readonly associatedData: readonly Buffer[]
}

export function makeTokenKey(ringKey: RingKey): TokenKey {
  const associatedData = PURPOSES.map((purpose, number) => {
    const header = Buffer.from([VERSION, number << 1, 0, 0, 0, 0])
    header.writeUInt32BE(ringKey.tag, 2)
    return Buffer.concat([header, Buffer.from(purpose)])
  })
  return { ringKey, associatedData }
}

export function encrypt(key: TokenKey, purpose: Purpose, nonce: Uint8Array, text: string): string {
  const associatedData = associatedDataFor(key, purpose)
  const cipher = createCipheriv(CIPHER, key.ringKey.secret, nonce, CIPHER_OPTIONS)
  cipher.setAAD(associatedData)
  const content = cipher.update(text, 'utf8')
  cipher.final() // returns nothing: GCM is a stream mode
  const token = Buffer.allocUnsafe(CONTENT_AT + content.length + TAG_BYTES)
  associatedData.copy(token, 0, 0, HEADER_BYTES)
  token.set(nonce, HEADER_BYTES)
  token.set(content, CONTENT_AT)
  token.set(cipher.getAuthTag(), CONTENT_AT + content.length)
  return token.toString('base64url')
}

export function decrypt(keys: ReadonlyMap<number, TokenKey>, purpose: Purpose, token: string): string {
  const bytes = readToken(token)
  const tag = bytes.readUInt32BE(2)
  const key = keys.get(tag)
  if (!key)
    throw unknownKey(
      tag,
      [...keys.values()].map(({ ringKey }) => ringKey.id),
    )
  if (bytes.readUInt8(1) >> 1 !== PURPOSES.indexOf(purpose)) {
    throw new StateError('STATE_PURPOSE', `State was sealed for another purpose than ${purpose}.`)
  }
  const nonce = bytes.subarray(HEADER_BYTES, CONTENT_AT)
  const decipher = createDecipheriv(CIPHER, key.ringKey.secret, nonce, CIPHER_OPTIONS)
  decipher.setAAD(associatedDataFor(key, purpose))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  const content = decipher.update(bytes.subarray(CONTENT_AT, -TAG_BYTES))
  try {
    decipher.final()
  } catch {
    throw new StateError('STATE_TAMPERED', 'State failed verification; send it back exactly as it was received.')
  }
  return content.toString()
}

/** What a token says of itself without a key. */
export function readHeader(token: string): { purpose: Purpose; keyTag: number } {
  const bytes = readToken(token)
  // readToken has checked that there is such a purpose.
  return { purpose: PURPOSES[bytes.readUInt8(1) >> 1] as Purpose, keyTag: bytes.readUInt32BE(2) }
}

function readToken(token: string): Buffer {
  const bytes = readBase64url(token)
  const sound =
    bytes !== undefined &&
    bytes.length > CONTENT_AT + TAG_BYTES &&
    bytes[0] === VERSION &&
    (bytes.readUInt8(1) & 1) === 0 &&
    bytes.readUInt8(1) >> 1 < PURPOSES.length
  if (sound) return bytes
  throw new StateError('STATE_MALFORMED', 'State is not a token of ours; send it back exactly as it was received.')
}

function associatedDataFor(key: TokenKey, purpose: Purpose): Buffer {
  const associatedData = key.associatedData[PURPOSES.indexOf(purpose)]
  if (associatedData) return associatedData
  throw new StateError('STATE_OPTION', `The purpose of a seal is one of ${PURPOSES.join(', ')}.`)
}

export type NonceSource = () => Uint8Array

/** Random 96-bit nonces, made in batches: one call for 3 KB costs about as much as one for 12 bytes. */
export function randomNonces(): NonceSource {
  const batch = Buffer.allocUnsafeSlow(NONCE_BYTES * NONCE_BATCH)
  let next = batch.length
  return () => {
    if (next === batch.length) {
      randomFillSync(batch)
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

/**
 * The bytes of a token, and its cipher, AES-256-GCM.
 *
 *   offset  0        1      2       6        18           end-16
 *           version  flags  key id  nonce    ciphertext   tag
 *
 * Invariants:
 * - flags: bit 0 is "deflated", bits 1 to 3 number the purpose, the rest are zero;
 * - the associated data is version, flags, key id and the purpose's name, so every byte of a token is authenticated;
 * - a token has exactly one encoding as text;
 * - nonces are random: change the sealing key before 2^32 seals (NIST SP 800-38D, 8.3).
 */
import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
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
const DEFLATED = 1
const HEADER_BYTES = 6
const NONCE_BYTES = 12
const TAG_BYTES = 16
const CONTENT_AT = HEADER_BYTES + NONCE_BYTES
const CIPHER = 'aes-256-gcm'
const CIPHER_OPTIONS = { authTagLength: TAG_BYTES }
const NONCE_BATCH = 256
// For journals, level 3 takes half the time of the default level, and the result is at most 5 % larger.
const DEFLATE_LEVEL = 3

/** The plaintext of a token, deflated or not. */
export interface Plain {
  readonly content: Buffer
  readonly deflated: boolean
}

/** A key with the associated data of every purpose, deflated or not, computed once. */
interface TokenKey {
  readonly ringKey: RingKey
  readonly associatedData: readonly Buffer[]
}

export function makeTokenKey(ringKey: RingKey): TokenKey {
  const associatedData = PURPOSES.flatMap((purpose, number) =>
    [0, DEFLATED].map((deflated) => {
      const header = Buffer.from([VERSION, (number << 1) | deflated, 0, 0, 0, 0])
      header.writeUInt32BE(ringKey.tag, 2)
      return Buffer.concat([header, Buffer.from(purpose)])
    }),
  )
  return { ringKey, associatedData }
}

export function encrypt(key: TokenKey, purpose: Purpose, nonce: Uint8Array, plain: Plain): string {
  const associatedData = associatedDataFor(key, flagsOf(purpose, plain.deflated))
  const cipher = createCipheriv(CIPHER, key.ringKey.secret, nonce, CIPHER_OPTIONS)
  cipher.setAAD(associatedData)
  const content = cipher.update(plain.content)
  cipher.final() // returns nothing: GCM is a stream mode
  const token = Buffer.allocUnsafe(CONTENT_AT + content.length + TAG_BYTES)
  associatedData.copy(token, 0, 0, HEADER_BYTES)
  token.set(nonce, HEADER_BYTES)
  token.set(content, CONTENT_AT)
  token.set(cipher.getAuthTag(), CONTENT_AT + content.length)
  return token.toString('base64url')
}

export function decrypt(keys: ReadonlyMap<number, TokenKey>, purpose: Purpose, token: string): Plain {
  const bytes = readToken(token)
  const flags = bytes.readUInt8(1)
  const tag = bytes.readUInt32BE(2)
  const key = keys.get(tag)
  if (!key)
    throw unknownKey(
      tag,
      [...keys.values()].map(({ ringKey }) => ringKey.id),
    )
  if (flags >> 1 !== PURPOSES.indexOf(purpose)) {
    throw new StateError('STATE_PURPOSE', `State was sealed for another purpose than ${purpose}.`)
  }
  const nonce = bytes.subarray(HEADER_BYTES, CONTENT_AT)
  const decipher = createDecipheriv(CIPHER, key.ringKey.secret, nonce, CIPHER_OPTIONS)
  decipher.setAAD(associatedDataFor(key, flags))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  const content = decipher.update(bytes.subarray(CONTENT_AT, -TAG_BYTES))
  try {
    decipher.final()
  } catch {
    throw new StateError('STATE_TAMPERED', 'State failed verification; send it back exactly as it was received.')
  }
  return { content, deflated: (flags & DEFLATED) !== 0 }
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
    bytes.readUInt8(1) >> 1 < PURPOSES.length
  if (sound) return bytes
  throw new StateError('STATE_MALFORMED', 'State is not a token of ours; send it back exactly as it was received.')
}

function flagsOf(purpose: Purpose, deflated: boolean): number {
  return (PURPOSES.indexOf(purpose) << 1) | (deflated ? DEFLATED : 0)
}

function associatedDataFor(key: TokenKey, flags: number): Buffer {
  const associatedData = key.associatedData[flags]
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

/** Deflates bytes, or returns undefined if that saves less than a tenth. */
export function deflate(bytes: Uint8Array): Buffer | undefined {
  const small = deflateRawSync(bytes, { level: DEFLATE_LEVEL })
  return small.length < bytes.length * 0.9 ? small : undefined
}

/** Inflates bytes, and refuses more output than a limit. */
export function inflate(bytes: Uint8Array, maxOutputLength: number): Buffer {
  // A chunk size that holds a typical journal avoids joining several chunks.
  const chunkSize = Math.min(Math.max(bytes.length * 8, 4096), Math.max(maxOutputLength, 64))
  try {
    return inflateRawSync(bytes, { maxOutputLength, chunkSize })
  } catch (error) {
    throw error instanceof RangeError
      ? new StateError('STATE_TOO_LARGE', 'State is larger than this server opens; raise maxBytes on every instance.')
      : new StateError('STATE_MALFORMED', 'State was deflated in a way this version cannot read.')
  }
}

/** The text of a token. */
export function unpack({ content, deflated }: Plain, maxInflatedBytes: number): string {
  return (deflated ? inflate(content, maxInflatedBytes) : content).toString()
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

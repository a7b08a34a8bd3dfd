/**
 * Marks: short keyed digests that show that a text which everybody may read was written by an instance with these keys.
 * A secret part of the text can be encrypted with the mark as the synthetic initial vector: a deterministic cipher, so the
 * same text always gives the same ciphertext (RFC 5297 explains the construction).
 */
import { createCipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { type Keyring, keysOf } from './keyring.ts'

export interface Marks {
  /** The mark of a text: always the same while the first key stays the same. */
  of(text: string): string
  /** Whether this is the mark of the text, by any of the keys. */
  isOf(text: string, mark: string): boolean
  /** Hides a part of the text that has this mark. */
  hidden(part: string, mark: string): string
  /** The marked values, for each of the keys. It counts only when the mark of the whole text is checked. */
  revealed(hidden: string, mark: string): readonly string[]
}

/** 128 bits in base64url. */
export const MARK_CHARS = 22
const MARK_BYTES = 16

/** A mark for one purpose is not valid for another. */
export function createMarks(keyring: Keyring, purpose: string): Marks {
  const derived = (use: string): [Buffer, ...Buffer[]] =>
    keysOf(keyring).map(({ secret }) =>
      Buffer.from(hkdfSync('sha256', secret, '', `pannier ${use} ${purpose}`, 32)),
    ) as [Buffer, ...Buffer[]]
  const marking = derived('mark')
  const hiding = derived('hide')
  const digest = (key: Buffer, text: string): Buffer =>
    createHmac('sha256', key).update(text).digest().subarray(0, MARK_BYTES)
  return {
    of: (text) => digest(marking[0], text).toString('base64url'),
    isOf: (text, mark) => {
      const given = Buffer.from(mark, 'base64url')
      if (given.length !== MARK_BYTES || given.toString('base64url') !== mark) return false
      return marking.some((key) => timingSafeEqual(digest(key, text), given))
    },
    hidden: (part, mark) => crypted(hiding[0], mark, Buffer.from(part)).toString('base64url'),
    revealed: (hidden, mark) => hiding.map((key) => crypted(key, mark, Buffer.from(hidden, 'base64url')).toString()),
  }
}

/** The same for both ways. */
function crypted(key: Buffer, mark: string, bytes: Buffer): Buffer {
  const cipher = createCipheriv('aes-256-ctr', key, Buffer.from(mark, 'base64url'))
  return Buffer.concat([cipher.update(bytes), cipher.final()])
}

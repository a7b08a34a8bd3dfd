/** Marks: short keyed digests that show that a text which everybody may read was written by an instance with these keys. */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { type Keyring, keysOf } from './keyring.ts'

export interface Marks {
  /** The mark of a text: always the same while the first key stays the same. */
  of(text: string): string
  /** Whether this is the mark of the text, by any of the keys. */
  isOf(text: string, mark: string): boolean
}

/** 128 bits in base64url. */
export const MARK_CHARS = 22
const MARK_BYTES = 16

/** A mark for one purpose is none for another. */
export function createMarks(keyring: Keyring, purpose: string): Marks {
  const [first, ...rest] = keysOf(keyring).map(({ secret }) =>
    Buffer.from(hkdfSync('sha256', secret, '', `pannier mark ${purpose}`, 32)),
  ) as [Buffer, ...Buffer[]]
  const digest = (key: Buffer, text: string): Buffer =>
    createHmac('sha256', key).update(text).digest().subarray(0, MARK_BYTES)
  return {
    of: (text) => digest(first, text).toString('base64url'),
    isOf: (text, mark) => {
      const given = Buffer.from(mark, 'base64url')
      if (given.length !== MARK_BYTES || given.toString('base64url') !== mark) return false
      return [first, ...rest].some((key) => timingSafeEqual(digest(key, text), given))
    },
  }
}

import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { StateError } from '../errors.ts'

// On journals, level 3 gives sizes within 5 % of the default's in half the time.
const LEVEL = 3

/** Deflates bytes, or gives undefined when that saves less than a tenth and is not worth inflating later. */
export function deflate(bytes: Uint8Array): Buffer | undefined {
  const small = deflateRawSync(bytes, { level: LEVEL })
  return small.length < bytes.length * 0.9 ? small : undefined
}

/** Inflates what `deflate` made, up to a limit. */
export function inflate(bytes: Uint8Array, maxOutputLength: number): Buffer {
  // One chunk that fits a typical journal saves joining several.
  const chunkSize = Math.min(Math.max(bytes.length * 8, 4096), Math.max(maxOutputLength, 64))
  try {
    return inflateRawSync(bytes, { maxOutputLength, chunkSize })
  } catch (error) {
    throw error instanceof RangeError
      ? new StateError('STATE_TOO_LARGE', 'State is larger than this server opens; raise maxBytes on every instance.')
      : new StateError('STATE_MALFORMED', 'State was deflated in a way this version cannot read.')
  }
}

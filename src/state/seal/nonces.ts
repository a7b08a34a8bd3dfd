import { randomFillSync } from 'node:crypto'

const NONCE_BYTES = 12
const BATCH = 256

export type NonceSource = () => Uint8Array

/** Random 96-bit nonces, drawn in batches because one call for 3 KB costs about as much as one for 12 bytes. */
export function randomNonces(): NonceSource {
  const batch = Buffer.allocUnsafeSlow(NONCE_BYTES * BATCH)
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

/** Bytes as text, random bytes and digests, by Node. Workers and browsers have bytes.worker.ts in its place. */
import { isUtf8 as isUtf8Bytes } from 'node:buffer'
import { hash, randomFillSync, randomUUID as randomUuid } from 'node:crypto'

export { randomUuid }

export function isUtf8(bytes: Uint8Array): boolean {
  return isUtf8Bytes(bytes)
}

/** Invalid UTF-8 becomes replacement characters. */
export function utf8Text(bytes: Uint8Array): string {
  return bufferOf(bytes).toString('utf8')
}

export function utf8Of(text: string): Uint8Array<ArrayBuffer> {
  return Buffer.from(text)
}

/** How many bytes a text has in UTF-8. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text)
}

export function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return Buffer.concat(chunks)
}

export function toBase64(bytes: Uint8Array, form: 'base64' | 'base64url'): string {
  return bufferOf(bytes).toString(form)
}

/** Decodes characters of the base64url alphabet, and skips all others. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  return Buffer.from(text, 'base64url')
}

export function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  return randomFillSync(Buffer.allocUnsafeSlow(length))
}

export function sha256(data: string | Uint8Array, form: 'hex' | 'base64url'): string {
  return hash('sha256', data, form)
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

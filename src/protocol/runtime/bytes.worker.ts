/** In place of bytes.ts where Node's modules may be missing: Workers, edge functions and browsers. */
import type * as bytes from './bytes.ts'
import { findNodeModule } from './nodeModule.ts'
import { digestOfBytes } from './sha256.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** How many bytes `String.fromCharCode` takes as its arguments at a time. */
const SLICE_BYTES = 8192

const replacement: typeof bytes = {
  isUtf8(given) {
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(given)
      return true
    } catch {
      return false
    }
  },
  utf8Text: (given) => decoder.decode(given),
  utf8Of: (text) => encoder.encode(text),
  utf8Length: (text) => encoder.encode(text).length,
  joined(chunks) {
    const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0))
    let at = 0
    for (const chunk of chunks) {
      whole.set(chunk, at)
      at += chunk.length
    }
    return whole
  },
  toBase64(given, form) {
    let binary = ''
    for (let at = 0; at < given.length; at += SLICE_BYTES)
      binary += String.fromCharCode(...given.subarray(at, at + SLICE_BYTES))
    const text = btoa(binary)
    return form === 'base64' ? text : text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  },
  fromBase64url(text) {
    const known = text
      .replaceAll(/[^\w-]/g, '')
      .replaceAll('-', '+')
      .replaceAll('_', '/')
    // One character alone is no byte.
    return Uint8Array.from(atob(known.length % 4 === 1 ? known.slice(0, -1) : known), (char) => char.charCodeAt(0))
  },
  randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
  randomUuid: () => crypto.randomUUID(),
  sha256(data, form) {
    const native = findNodeModule('node:crypto')?.hash
    if (native !== undefined) return native('sha256', data, form)
    const digest = digestOfBytes(typeof data === 'string' ? encoder.encode(data) : data)
    if (form === 'hex') return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
    return replacement.toBase64(digest, form)
  },
}

export const {
  isUtf8,
  utf8Text,
  utf8Of,
  utf8Length,
  joined,
  toBase64,
  fromBase64url,
  randomBytes,
  randomUuid,
  sha256,
} = replacement

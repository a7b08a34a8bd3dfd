/**
 * A digest of a JSON value: SHA-256 over its canonical text (RFC 8785: members sorted by UTF-16 code units, numbers and
 * strings as ECMAScript writes them). So the same arguments have the same digest in whatever order their members come.
 */
import { sha256 } from '../protocol/index.ts'
import { StateError } from './errors.ts'
import { notWritable } from './jsonText.ts'

const DIGEST_CHARS = 22 // 132 bits
const MAX_DEPTH = 2000

/** The digest of a JSON value. `undefined` has a digest that no JSON value has. */
export function digestOf(value: unknown): string {
  return sha256(canonicalText(value), 'base64url').slice(0, DIGEST_CHARS)
}

function canonicalText(value: unknown): string {
  try {
    // Most arguments are small and already sorted. For these, JSON.stringify is the fastest writer.
    return (isCanonical(value, 0) ? JSON.stringify(value) : write(value, 0)) ?? ''
  } catch (error) {
    throw notWritable(error)
  }
}

/** Whether `JSON.stringify` writes the canonical text of the value. */
function isCanonical(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return isPlainNumber(value)
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean'
  if (value === null) return true
  assertDepth(depth)
  if (hasToJson(value)) return false
  if (Array.isArray(value)) return value.every((item) => isCanonical(item, depth + 1))
  let previous: string | undefined
  for (const key of Object.keys(value)) {
    if (previous !== undefined && key < previous) return false
    if (!isCanonical((value as Record<string, unknown>)[key], depth + 1)) return false
    previous = key
  }
  return true
}

/** `JSON.stringify` with sorted members. Undefined if JSON omits the member. */
function write(value: unknown, depth: number, key = ''): string | undefined {
  if (typeof value === 'number') return isPlainNumber(value) ? JSON.stringify(value) : '-0'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  assertDepth(depth)
  if (hasToJson(value)) return write(value.toJSON(key), depth + 1, key)
  if (Array.isArray(value)) {
    return `[${Array.from(value, (item, index) => write(item, depth + 1, String(index)) ?? 'null').join(',')}]`
  }
  let members = ''
  for (const name of Object.keys(value).sort()) {
    const text = write((value as Record<string, unknown>)[name], depth + 1, name)
    if (text !== undefined) members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${text}`
  }
  return `{${members}}`
}

/** JSON.parse reads 1e400 as Infinity, and JSON.stringify writes Infinity as null and -0 as 0: digests would collide. */
function isPlainNumber(value: number): boolean {
  if (!Number.isFinite(value)) throw new TypeError('a number is too large for JSON')
  return !Object.is(value, -0)
}

function hasToJson(value: object): value is { toJSON(key: string): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}

function assertDepth(depth: number): void {
  if (depth < MAX_DEPTH) return
  throw new StateError('STATE_TOO_DEEP', `The value is nested more than ${MAX_DEPTH} levels deep; flatten it.`)
}

/**
 * One short name for a JSON value: SHA-256 over its canonical text (RFC 8785: members sorted by UTF-16 code units,
 * numbers and strings as ECMAScript writes them), so two spellings of the same arguments have the same digest.
 */
import { hash } from 'node:crypto'
import { StateError } from './errors.ts'
import { notWritable } from './jsonText.ts'

const DIGEST_CHARS = 22 // 132 bits
const MAX_DEPTH = 2000

/** The digest of a JSON value. `undefined` has one of its own, which no JSON value shares. */
export function digestOf(value: unknown): string {
  return hash('sha256', canonicalText(value), 'base64url').slice(0, DIGEST_CHARS)
}

function canonicalText(value: unknown): string {
  try {
    // Most arguments are small and arrive in order: then the runtime's own writer is the fastest.
    return (isCanonical(value, 0) ? JSON.stringify(value) : write(value, 0)) ?? ''
  } catch (error) {
    throw notWritable(error)
  }
}

/** Whether `JSON.stringify` already writes the canonical text of the value. */
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

/** `JSON.stringify` with sorted members: undefined where JSON leaves a member out. */
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

/** JSON reads 1e400 as infinity and writes infinity as null: two values would share a digest. And -0 is not 0. */
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

/**
 * An OpenAPI document: a text of JSON or YAML within limits, and the references in it. Members are read with
 * `Object.hasOwn`, because their names are chosen by the author of the document.
 */
import { isObject, type Json, MAX_DEPTH } from '../protocol/index.ts'
import { OpenApiError, Unsupported } from './errors.ts'

export interface OpenApiDocument {
  readonly root: Json
  /** Whether its schemas have the dialect of OpenAPI 3.0 instead of JSON Schema 2020-12. */
  readonly is30: boolean
}

/** The largest document. GitHub's document has 12 MB. */
export const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
/** Parsing YAML takes 30 times as long as parsing JSON. */
const MAX_YAML_CHARACTERS = 8 * 1024 * 1024
const MAX_VALUES = 3_000_000
/** Maximum number of aliases that a YAML document expands: each may repeat a large part of it. */
const MAX_ALIASES = 1000

export async function parseDocument(text: string): Promise<OpenApiDocument> {
  return documentOf(await parseText(text))
}

/** The document in a parsed value. */
export function documentOf(value: unknown): OpenApiDocument {
  assertLimits(value)
  if (!isObject(value)) throw invalid('It is no object; check that this is the file that you mean.')
  const { swagger, openapi } = value
  if (swagger !== undefined) throw invalid(SWAGGER)
  const version = typeof openapi === 'number' ? openapi.toFixed(1) : openapi
  if (typeof version !== 'string' || !/^3\.[012](?:\.|$)/.test(version)) throw invalid(NO_VERSION)
  return { root: value, is30: version.startsWith('3.0') }
}

const SWAGGER =
  'It is of Swagger 2.0; OpenAPI 3.0 and 3.1 are supported. Convert it first, for example with: npx swagger2openapi FILE'
const NO_VERSION = 'It has no "openapi": "3.0.…" or "3.1.…"; OpenAPI 3.0 and 3.1 are supported.'

function invalid(sentence: string): OpenApiError {
  return new OpenApiError('OPENAPI_INVALID', `The OpenAPI document cannot be served. ${sentence}`)
}

async function parseText(text: string): Promise<unknown> {
  if (text.length > MAX_DOCUMENT_BYTES) throw invalid(`It is larger than ${MAX_DOCUMENT_BYTES} bytes.`)
  const plain = text.replace(/^\ufeff/, '')
  if (/^\s*\{/.test(plain)) {
    try {
      return JSON.parse(plain)
    } catch {
      // YAML may begin with a brace as well.
    }
  }
  if (plain.length > MAX_YAML_CHARACTERS) throw invalid('It is too large for YAML; convert it to JSON.')
  const { parse } = await import('yaml')
  try {
    return parse(plain, { maxAliasCount: MAX_ALIASES, logLevel: 'error', uniqueKeys: false })
  } catch (cause) {
    const line = isObject(cause) && Array.isArray(cause['linePos']) ? (cause['linePos'][0] as Json)['line'] : undefined
    const where = typeof line === 'number' ? ` at line ${line}` : ''
    throw new OpenApiError('OPENAPI_INVALID', `The OpenAPI document is neither valid JSON nor valid YAML${where}.`)
  }
}

/** Counts before it descends: an alias of YAML may stand for a large part of the document. */
function assertLimits(value: unknown): void {
  let level: readonly unknown[] = [value]
  let values = 1
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw invalid(`It nests deeper than ${MAX_DEPTH} levels.`)
    const next: unknown[] = []
    for (const each of level) {
      if (typeof each !== 'object' || each === null) continue
      for (const inner of Object.values(each)) {
        if (++values > MAX_VALUES) throw invalid(`It has more than ${MAX_VALUES} values.`)
        next.push(inner)
      }
    }
    level = next
  }
}

/** An own member of an object; undefined if there is none. */
export function member(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** An own member that is an object; an empty object if there is none. */
export function memberObject(value: unknown, name: string): Json {
  const found = member(value, name)
  return isObject(found) ? found : {}
}

export function memberText(value: unknown, name: string): string | undefined {
  const found = member(value, name)
  return typeof found === 'string' ? found : undefined
}

const MAX_REFERENCES = 32

/** The value that a reference leads to, or the value itself. References lead only to places in the same document. */
export function resolved(document: OpenApiDocument, value: unknown): unknown {
  let found = value
  for (let count = 0; count < MAX_REFERENCES; count++) {
    const reference = memberText(found, '$ref')
    if (reference === undefined) return found
    found = targetOf(document, reference)
  }
  throw new Unsupported('A reference ("$ref") in it leads back to itself.')
}

function targetOf({ root }: OpenApiDocument, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) throw new Unsupported(EXTERNAL)
  let found: unknown = root
  for (const part of reference.slice(2).split('/')) {
    const name = unescaped(part)
    found = Array.isArray(found) ? (found[Number(name)] as unknown) : member(found, name)
    if (found === undefined) throw new Unsupported('A reference ("$ref") in it leads to nothing.')
  }
  return found
}

const EXTERNAL =
  'A reference ("$ref") in it leads to another document, which is not read. Bundle all into one document first.'

/** A part of a JSON pointer in a fragment (RFC 6901, 6). */
function unescaped(part: string): string {
  const text = part.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

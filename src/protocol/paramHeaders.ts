import { ProtocolError } from './errors.ts'
import { decodeHeader, encodeHeader, type HeaderReader, mismatch } from './headers.ts'
import { isObject, type Json } from './jsonRpc.ts'

/** One tool argument that is mirrored in a header (`x-mcp-header`). */
export interface ParamHeader {
  readonly path: readonly string[]
  /** As shown to people. */
  readonly name: string
  /** As read from the request. */
  readonly field: string
  readonly type: 'string' | 'integer' | 'boolean'
}

const ANNOTATION = 'x-mcp-header'
const MAX_MIRRORED_CHARS = 8192
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const MIRRORED_TYPES = new Set(['string', 'integer', 'boolean'])

/** Finds the mirrored parameters of an input schema; throws a TypeError that names the property which breaks a rule. */
export function findParamHeaders(schema: Json): readonly ParamHeader[] {
  const found: ParamHeader[] = []
  collect(schema, [], found)
  const seen = new Set<string>()
  for (const { field, name } of found) {
    if (seen.has(field)) throw new TypeError(`Two properties have the header name "${name}"; names must differ.`)
    seen.add(field)
  }
  return found
}

/** Checks that every mirrored argument has its header with the same value, and an absent argument has none. */
export function assertParamHeaders(mirrored: readonly ParamHeader[], args: Json, header: HeaderReader): void {
  for (const param of mirrored) assertMirrored(param, valueAt(args, param.path), header(param.field))
}

/** The headers of a tool call's mirrored arguments. An argument that is absent or null has none. */
export function paramHeaderValues(mirrored: readonly ParamHeader[], args: unknown): Record<string, string> {
  const values = mirrored.flatMap(({ field, path }) => {
    const value = isObject(args) ? valueAt(args, path) : undefined
    const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    return isScalar ? [[field, encodeHeader(fitting(String(value), path))] as const] : []
  })
  return Object.fromEntries(values)
}

/** A longer one is refused before it is encoded: servers take 16 KB of headers. */
function fitting(value: string, path: readonly string[]): string {
  if (value.length <= MAX_MIRRORED_CHARS) return value
  const sentence = `"${path.join('.')}" has more than ${MAX_MIRRORED_CHARS} characters, and is sent as a header.`
  throw new ProtocolError('PARAMS_INVALID', sentence)
}

function assertMirrored(param: ParamHeader, value: unknown, raw: string | undefined): void {
  if (value === undefined || value === null) {
    if (raw !== undefined) throw mismatch(`The ${param.name} header is for an argument that was not sent.`)
    return
  }
  const sent = decodeHeader(param.name, raw)
  if (sent === undefined) throw mismatch(`The ${param.name} header is missing.`)
  if (!isSameValue(param, value, sent)) throw mismatch(`The ${param.name} header differs from its argument.`)
}

function isSameValue(param: ParamHeader, value: unknown, sent: string): boolean {
  // "42.0 and 42 are considered equal"
  if (typeof value === 'number') return /^-?\d+(?:\.\d+)?$/.test(sent) && Number(sent) === value
  return String(value) === sent
}

function valueAt(args: Json, path: readonly string[]): unknown {
  let value: unknown = args
  for (const key of path) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return value
}

function collect(schema: Json, path: readonly string[], found: ParamHeader[]): void {
  for (const [keyword, part] of Object.entries(schema)) {
    if (keyword === 'properties' && isObject(part)) {
      for (const [key, property] of Object.entries(part)) {
        if (!isObject(property)) continue
        if (ANNOTATION in property) found.push(readAnnotation(property, [...path, key]))
        collect(property, [...path, key], found)
      }
    } else if (keyword !== ANNOTATION) {
      refuseBelow(part, keyword)
    }
  }
}

function readAnnotation(property: Json, path: readonly string[]): ParamHeader {
  const name = property[ANNOTATION]
  const type = property['type']
  const where = path.join('.')
  if (typeof name !== 'string' || !TOKEN.test(name)) {
    throw new TypeError(`"${ANNOTATION}" of "${where}" must be a header name: letters, digits and -_.!#$%&'*+^\`|~.`)
  }
  if (typeof type !== 'string' || !MIRRORED_TYPES.has(type)) {
    throw new TypeError(`"${where}" has a "${ANNOTATION}", so its type must be string, integer or boolean.`)
  }
  return {
    path,
    name: `Mcp-Param-${name}`,
    field: `mcp-param-${name.toLowerCase()}`,
    type: type as ParamHeader['type'],
  }
}

/** An annotation that is not reachable through `properties` alone makes the definition invalid. */
function refuseBelow(part: unknown, keyword: string): void {
  if (typeof part !== 'object' || part === null) return
  if (isObject(part) && ANNOTATION in part && keyword !== 'default' && keyword !== 'const') {
    throw new TypeError(`"${ANNOTATION}" is not allowed below "${keyword}": mark a property of the root object.`)
  }
  for (const [key, below] of Object.entries(part)) refuseBelow(below, Array.isArray(part) ? keyword : key)
}

/**
 * One interface to schemas of any library: the JSON Schema for the wire, and a check for values. Each schema is
 * compiled once and cached by its object.
 */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { Ajv, type ErrorObject } from 'ajv'
import addFormats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { isObject, type Json } from '../protocol/index.ts'

/** zod, valibot, arktype or any other Standard Schema, or plain JSON Schema. */
export type SchemaLike = StandardSchemaV1 | Json

/** What a handler receives after the check. */
export type InferSchema<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : Record<string, unknown>

const compiled = new WeakMap<object, Partial<Record<Direction, Schema>>>()

/** Input: arguments and answers. Output: structured content. */
type Direction = 'input' | 'output'

/** `what` names the schema in errors: `The input of tool "x"`. */
export function compileSchema(schema: SchemaLike, direction: Direction, what: string): Schema {
  const known = compiled.get(schema)
  const found = known?.[direction]
  if (found !== undefined) return found
  const fresh = isStandard(schema)
    ? fromStandard(schema, direction, what)
    : compileJsonSchema(plain(schema, what), what)
  compiled.set(schema, { ...known, [direction]: fresh })
  return fresh
}

/** A schema may be a function, as arktype's are. */
function isStandard(schema: SchemaLike): schema is StandardSchemaV1 {
  return (isObject(schema) || typeof schema === 'function') && '~standard' in schema
}

/** A check at run time, for authors who write plain JavaScript. */
function plain(schema: Json, what: string): Json {
  if (isObject(schema)) return schema
  const kinds = 'a schema of zod, valibot, arktype or another library of Standard Schema, or an object of JSON Schema'
  throw new TypeError(`${what} must be ${kinds}, such as z.object({ … }).`)
}

function fromStandard(schema: StandardSchemaV1, direction: Direction, what: string): Schema {
  const standard = schema['~standard'] as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  if (standard.jsonSchema === undefined) {
    throw new TypeError(
      `${what} is a ${standard.vendor} schema that cannot describe itself as JSON Schema. ` +
        (standard.vendor === 'valibot'
          ? 'Wrap it: toStandardJsonSchema(schema) from @valibot/to-json-schema.'
          : 'Use a version of the library that implements Standard JSON Schema, or give plain JSON Schema.'),
    )
  }
  const json = withoutDefaultDialect(describedBy(schema, direction, what))
  if (!isObject(json)) throw new TypeError(`${what} does not describe a JSON object.`)
  const { validate } = standard
  return { json, check: (value) => toChecked(validate(value)) }
}

function describedBy(schema: StandardSchemaV1, direction: Direction, what: string): unknown {
  try {
    return jsonOf(schema, direction)
  } catch (cause) {
    const field = fieldsOf(schema).find(([, property]) => !isDescribable(property, direction))?.[0]
    const where = field === undefined ? what : `${what} has a field "${field}" that`
    throw new TypeError(`${where} cannot be described as JSON Schema: ${(cause as Error).message}.`, { cause })
  }
}

/** MCP's schemas are 2020-12 unless they say otherwise, and some clients know no dialect by that name. */
function withoutDefaultDialect(json: unknown): unknown {
  if (!isObject(json) || json['$schema'] !== DRAFT_2020) return json
  const { $schema: _, ...rest } = json
  return rest
}

function jsonOf(schema: StandardSchemaV1, direction: Direction): unknown {
  const { jsonSchema } = schema['~standard'] as Partial<StandardJSONSchemaV1.Props>
  return jsonSchema?.[direction]({ target: 'draft-2020-12' })
}

/** The fields of an object schema, for libraries that show them as `shape` (zod) or `entries` (valibot). */
function fieldsOf(schema: StandardSchemaV1): [string, unknown][] {
  const { shape, entries } = schema as { shape?: unknown; entries?: unknown }
  const fields = isObject(shape) ? shape : entries
  return isObject(fields) ? Object.entries(fields) : []
}

function isDescribable(field: unknown, direction: Direction): boolean {
  try {
    jsonOf(field as StandardSchemaV1, direction)
    return true
  } catch {
    return false
  }
}

function toChecked(result: ReturnType<StandardSchemaV1.Props['validate']>): Checked | Promise<Checked> {
  if (result instanceof Promise) return result.then(toChecked)
  return result.issues === undefined
    ? { ok: true, value: result.value }
    : { ok: false, issues: describe(result.issues) }
}

const MAX_ISSUES = 10
const MAX_ISSUE_CHARS = 300

/** The first few issues, each shortened, so that a large wrong value does not make a large answer. */
function describe(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => (path === undefined || path.length === 0 ? message : `${dotted(path)}: ${message}`))
    .map((issue) => (issue.length > MAX_ISSUE_CHARS ? `${issue.slice(0, MAX_ISSUE_CHARS)}…` : issue))
    .join('; ')
}

function dotted(path: NonNullable<StandardSchemaV1.Issue['path']>): string {
  return path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
}

type Checked = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly issues: string }

/** A compiled schema: its JSON Schema, and the check. */
export interface Schema {
  readonly json: Json
  check(value: unknown): Checked | Promise<Checked>
}

const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema'
const DRAFT_07 = 'http://json-schema.org/draft-07/schema'

// One compiler for each dialect, created when first needed. Most servers use neither.
let for2020: Ajv2020 | undefined
let for07: Ajv | undefined

/** Compiles a plain JSON Schema once. Never fetches a `$ref`. */
function compileJsonSchema(json: Json, what: string): Schema {
  if (!mayGenerateCode()) return { json, check: (value) => interpret(json, value) }
  const validate = compile(json, what)
  return {
    json,
    check: (value) => {
      if (validate(value)) return { ok: true, value }
      const issues = describeErrors(validate.errors ?? [])
      validate.errors = null // they reference the value
      return { ok: false, issues }
    },
  }
}

/** Workers may do so while they start, and not while they serve a request. */
function mayGenerateCode(): boolean {
  try {
    // oxlint-disable-next-line typescript/no-implied-eval -- to find out; it is never run
    return typeof new Function('return 1') === 'function'
  } catch {
    return false
  }
}

/** Checks without generating code. Loaded where it is needed, because elsewhere it never is. */
async function interpret(json: Json, value: unknown): Promise<Checked> {
  const { CfWorkerJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/cf-worker')
  const { valid, errorMessage = '' } = new CfWorkerJsonSchemaValidator().getValidator(json)(value)
  return valid ? { ok: true, value } : { ok: false, issues: describe([{ message: errorMessage }]) }
}

function compile(json: Json, what: string) {
  try {
    return compilerFor(json, what).compile(json)
  } catch (cause) {
    throw new TypeError(`${what} is not a usable JSON Schema: ${(cause as Error).message}`, { cause })
  }
}

function compilerFor(json: Json, what: string): Ajv {
  const named = json['$schema']
  const dialect = typeof named === 'string' ? named.replace(/#$/, '') : DRAFT_2020
  if (dialect === DRAFT_2020) return (for2020 ??= withFormats(new Ajv2020(OPTIONS)))
  if (dialect === DRAFT_07) return (for07 ??= withFormats(new Ajv(OPTIONS)))
  throw new TypeError(`${what} uses the dialect ${dialect}; 2020-12 and draft-07 are supported.`)
}

// The first error ends a check. With allErrors, `pattern` would also run on values that `maxLength` has refused
// already.
const OPTIONS = { strict: false, allErrors: false, useDefaults: false, addUsedSchema: false } as const

function withFormats<A extends Ajv>(ajv: A): A {
  addFormats.default(ajv)
  ajv.addFormat('url', (text) => URL.canParse(text)) // the package's own pattern is quadratic
  ajv.removeKeyword('uniqueItems') // the package compares each item with each: 20 s for a list that a body can hold
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    validate: (isUnique: boolean, items: readonly unknown[]) => !isUnique || areUnique(items),
  })
  return ajv
}

function areUnique(items: readonly unknown[]): boolean {
  return new Set(items.map(textOf)).size === items.length
}

/** The same text for equal JSON values, in whatever order their members come, and for no others. */
function textOf(value: unknown): string {
  if (typeof value === 'number') return String(value) // 0 and -0 are equal, and 1e400 is no null
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? ''
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${textOf(member)}`)
  return `{${members.sort().join(',')}}`
}

function describeErrors(errors: readonly ErrorObject[]): string {
  return describe(
    errors.map(({ instancePath, message = '' }) => {
      const where = instancePath.slice(1, MAX_ISSUE_CHARS).replaceAll('/', '.')
      return { message: `${where || 'value'} ${message}` }
    }),
  )
}

/**
 * One interface to schemas of any library: the JSON Schema for the wire, and a check for values. Each schema is
 * compiled once and cached by its object.
 */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { compileJsonSchema } from '#runtime/server/schema/jsonSchema'
import { isObject, type Json } from '../../protocol/index.ts'
import { type Checked, describeIssues, DRAFT_2020, type Schema } from './check.ts'

export type { Schema } from './check.ts'

/** zod, valibot, arktype or any other Standard Schema, or plain JSON Schema. */
export type SchemaLike = StandardSchemaV1 | Json

/** The input of a handler, after the check. */
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
    : { ok: false, issues: describeIssues(result.issues) }
}

/**
 * One way to look at a schema, whatever library wrote it: its JSON Schema for the wire, and a check for values.
 * Compiled once and remembered by the schema object, so a form written inline costs no more than a constant.
 */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { isObject, type Json } from '../protocol/index.ts'
import type { Checked, Schema } from './checkedSchema.ts'
import { compileJsonSchema } from './jsonSchema.ts'

/** zod, valibot, arktype or any other Standard Schema, or plain JSON Schema. */
export type SchemaLike = StandardSchemaV1 | Json

/** What a handler receives after the check. */
export type InferSchema<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : Record<string, unknown>

const compiled = new WeakMap<object, Partial<Record<Direction, Schema>>>()

/** Arguments and answers come in; structured content goes out. */
type Direction = 'input' | 'output'

/** `what` names the schema in errors: `The input of tool "x"`. */
export function compileSchema(schema: SchemaLike, direction: Direction, what: string): Schema {
  const known = compiled.get(schema)
  const found = known?.[direction]
  if (found !== undefined) return found
  const fresh = isStandard(schema) ? fromStandard(schema, direction, what) : compileJsonSchema(schema, what)
  compiled.set(schema, { ...known, [direction]: fresh })
  return fresh
}

function isStandard(schema: SchemaLike): schema is StandardSchemaV1 {
  return '~standard' in schema
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
  const json = standard.jsonSchema[direction]({ target: 'draft-2020-12' })
  if (!isObject(json)) throw new TypeError(`${what} does not describe a JSON object.`)
  const { validate } = standard
  return { json, check: (value) => toChecked(validate(value)) }
}

function toChecked(result: ReturnType<StandardSchemaV1.Props['validate']>): Checked | Promise<Checked> {
  if (result instanceof Promise) return result.then(toChecked)
  return result.issues === undefined
    ? { ok: true, value: result.value }
    : { ok: false, issues: describe(result.issues) }
}

const MAX_ISSUES = 10
const MAX_ISSUE_CHARS = 300

/** The first few, each cut: a large wrong value must not make a larger answer. */
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

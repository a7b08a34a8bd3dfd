import { Ajv, type ErrorObject } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Json } from '../protocol/index.ts'
import type { Schema } from './checkedSchema.ts'

const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema'
const DRAFT_07 = 'http://json-schema.org/draft-07/schema'

// One compiler for each dialect, made when first needed: most servers use neither.
let for2020: Ajv2020 | undefined
let for07: Ajv | undefined

/** Compiles a plain JSON Schema once. Never fetches a `$ref`. */
export function compileJsonSchema(json: Json, what: string): Schema {
  const validate = compile(json, what)
  return {
    json,
    check: (value) => (validate(value) ? { ok: true, value } : { ok: false, issues: describe(validate.errors ?? []) }),
  }
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

const OPTIONS = { strict: false, allErrors: true, useDefaults: false, addUsedSchema: false } as const

function withFormats<A extends Ajv>(ajv: A): A {
  addFormats.default(ajv)
  return ajv
}

function describe(errors: readonly ErrorObject[]): string {
  return errors
    .map(({ instancePath, message }) => `${instancePath.slice(1).replaceAll('/', '.') || 'value'} ${message}`)
    .join('; ')
}

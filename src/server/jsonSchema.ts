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
    check: (value) => {
      if (validate(value)) return { ok: true, value }
      const issues = describe(validate.errors ?? [])
      validate.errors = null // they hold on to the value
      return { ok: false, issues }
    },
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

// The first fault ends a check: to find them all would let `pattern` run on what `maxLength` has refused already.
const OPTIONS = { strict: false, allErrors: false, useDefaults: false, addUsedSchema: false } as const

function withFormats<A extends Ajv>(ajv: A): A {
  addFormats.default(ajv)
  ajv.addFormat('url', (text) => URL.canParse(text)) // the package's own pattern is quadratic
  return ajv
}

function describe(errors: readonly ErrorObject[]): string {
  return errors
    .map(({ instancePath, message }) => `${instancePath.slice(1).replaceAll('/', '.') || 'value'} ${message}`)
    .join('; ')
}

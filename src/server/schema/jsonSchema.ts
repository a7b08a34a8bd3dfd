/** Compiles plain JSON Schemas with ajv. Bundles for Workers have jsonSchema.worker.ts in its place. */
import { ajvPackages, type AjvPackages } from '#lazy/server/schema/ajv'
import type { Ajv, ErrorObject } from 'ajv'
import type { Json } from '../../protocol/index.ts'
import {
  assertDialect,
  type Checked,
  describeIssues,
  DRAFT_2020,
  MAX_ISSUE_CHARS,
  type Schema,
  unusable,
} from './check.ts'

// One compiler for each dialect, created when first needed. Most servers use neither.
const compilers: Partial<Record<string, Ajv>> = {}

/** Compiles a plain JSON Schema once. Never fetches a `$ref`. */
export function compileJsonSchema(json: Json, what: string): Schema {
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

function mayGenerateCode(): boolean {
  try {
    // oxlint-disable-next-line typescript/no-implied-eval -- to find out; it is never run
    return typeof new Function('return 1') === 'function'
  } catch {
    return false
  }
}

/** Loads the interpreter only in runtimes that need it. */
async function interpret(json: Json, value: unknown): Promise<Checked> {
  const { interpretedCheck } = await import('./interpreter.ts')
  return interpretedCheck(json)(value)
}

function compile(json: Json, what: string) {
  try {
    return compilerFor(json, what).compile(json)
  } catch (cause) {
    throw unusable(what, cause)
  }
}

function compilerFor(json: Json, what: string): Ajv {
  const dialect = assertDialect(json, what)
  return (compilers[dialect] ??= createCompiler(dialect, ajvPackages()))
}

// The first error ends a check. With allErrors, `pattern` would also run on values that `maxLength` has refused
// already.
const OPTIONS = { strict: false, allErrors: false, useDefaults: false, addUsedSchema: false } as const

function createCompiler(dialect: string, { Ajv, Ajv2020, addFormats }: AjvPackages): Ajv {
  const ajv = dialect === DRAFT_2020 ? new Ajv2020(OPTIONS) : new Ajv(OPTIONS)
  addFormats(ajv)
  ajv.addFormat('url', (text) => URL.canParse(text)) // the package's own pattern is quadratic
  ajv.removeKeyword('uniqueItems') // the package compares each item with each: 20 s for a list that a body can hold
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    validate: (isUnique: boolean, items: readonly unknown[]) =>
      !isUnique || new Set(items.map(textOf)).size === items.length,
  })
  return ajv
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
  return describeIssues(
    errors.map(({ instancePath, message = '' }) => {
      const where = instancePath.slice(1, MAX_ISSUE_CHARS).replaceAll('/', '.')
      return { message: `${where || 'value'} ${message}` }
    }),
  )
}

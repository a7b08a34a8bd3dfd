/** Reads the requested schema of a form into fields. The schema comes from a server and is not trusted. */
import { isObject, type Json } from '../protocol/index.ts'
import { plainLine } from './safeText.ts'

const TEXT_FORMATS = ['email', 'uri', 'date', 'date-time'] as const

export type TextFormat = (typeof TEXT_FORMATS)[number]

interface FieldBase {
  /** The name of the property. */
  readonly key: string
  readonly title: string
  readonly description: string | undefined
  readonly required: boolean
}

export interface TextField extends FieldBase {
  readonly kind: 'text'
  readonly format: TextFormat | undefined
  readonly minLength: number | undefined
  readonly maxLength: number | undefined
  readonly default: string | undefined
}

export interface NumberField extends FieldBase {
  readonly kind: 'number'
  readonly integer: boolean
  readonly minimum: number | undefined
  readonly maximum: number | undefined
  readonly default: number | undefined
}

export interface BooleanField extends FieldBase {
  readonly kind: 'boolean'
  readonly default: boolean | undefined
}

export interface ChoiceField extends FieldBase {
  readonly kind: 'choice'
  readonly choices: readonly Choice[]
  readonly default: string | undefined
}

export interface ChoicesField extends FieldBase {
  readonly kind: 'choices'
  readonly choices: readonly Choice[]
  readonly minItems: number | undefined
  readonly maxItems: number | undefined
  readonly default: readonly string[] | undefined
}

/** An optional property of a type that forms do not have. It is left empty. */
interface UnknownField extends FieldBase {
  readonly kind: 'unknown'
}

export type Field = TextField | NumberField | BooleanField | ChoiceField | ChoicesField | UnknownField

export type FieldValue = string | number | boolean | readonly string[]

/** The error of a form that cannot be shown. `what`: the problem. */
type Refusal = (what: string) => Error

/** Reads the schema of a form. Throws if a required field has a type that forms do not support. */
export function readFields(schema: unknown, unsupported: Refusal = unshown): readonly Field[] {
  if (!isObject(schema) || !isObject(schema['properties'])) throw unsupported('has no properties')
  const required = new Set<unknown>(Array.isArray(schema['required']) ? schema['required'] : [])
  for (const name of required) {
    if (typeof name !== 'string' || !Object.hasOwn(schema['properties'], name)) {
      throw unsupported('requires a field that it does not describe')
    }
  }
  return Object.entries(schema['properties']).map(([key, property]) =>
    readField(key, property, required.has(key), unsupported),
  )
}

function unshown(what: string): TypeError {
  return new TypeError(`The form ${what}; it cannot be shown.`)
}

function readField(key: string, property: unknown, required: boolean, unsupported: Refusal): Field {
  const field = isObject(property) ? knownField(property, baseOf(key, property, required)) : undefined
  if (field !== undefined) return field
  if (required) throw unsupported(`requires "${plainLine(key, 60)}", which is not a string, number, boolean or choice`)
  return { kind: 'unknown', ...baseOf(key, {}, false) }
}

function baseOf(key: string, property: Json, required: boolean): FieldBase {
  return { key, title: text(property['title']) || key, description: text(property['description']), required }
}

function knownField(property: Json, base: FieldBase): Field | undefined {
  const choices = readChoices(property)
  if (choices !== undefined) return { kind: 'choice', ...base, choices, default: text(property['default']) }
  switch (property['type']) {
    case 'string':
      return textField(property, base)
    case 'number':
    case 'integer':
      return numberField(property, base)
    case 'boolean':
      return { kind: 'boolean', ...base, default: boolean(property['default']) }
    case 'array':
      return choicesField(property, base)
    default:
      return undefined
  }
}

function textField(property: Json, base: FieldBase): TextField {
  return {
    kind: 'text',
    ...base,
    // The server itself checks formats that we do not know.
    format: TEXT_FORMATS.find((format) => format === property['format']),
    minLength: number(property['minLength']),
    maxLength: number(property['maxLength']),
    default: text(property['default']),
  }
}

function numberField(property: Json, base: FieldBase): NumberField {
  return {
    kind: 'number',
    ...base,
    integer: property['type'] === 'integer',
    minimum: number(property['minimum']),
    maximum: number(property['maximum']),
    default: number(property['default']),
  }
}

function choicesField(property: Json, base: FieldBase): ChoicesField | undefined {
  const choices = isObject(property['items']) ? readChoices(property['items']) : undefined
  if (choices === undefined) return undefined
  const given = property['default']
  return {
    kind: 'choices',
    ...base,
    choices,
    minItems: number(property['minItems']),
    maxItems: number(property['maxItems']),
    default: isTexts(given) ? given : undefined,
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function boolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

/** One of the values that can be chosen, and how it is called. */
interface Choice {
  readonly value: string
  readonly title: string
}

/** `enum`, with the older `enumNames` beside it or not; `oneOf` or `anyOf` of constants with titles. */
function readChoices(schema: Json): readonly Choice[] | undefined {
  const { enum: values, enumNames: names, oneOf, anyOf } = schema
  if (isTexts(values) && values.length > 0) {
    const titles: readonly unknown[] = Array.isArray(names) ? names : []
    return values.map((value, index) => ({ value, title: titleOr(titles[index], value) }))
  }
  const options: unknown = oneOf ?? anyOf
  if (!Array.isArray(options) || options.length === 0) return undefined
  const choices = options.map(readConstant)
  return choices.every((choice) => choice !== undefined) ? choices : undefined
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function readConstant(option: unknown): Choice | undefined {
  if (!isObject(option) || typeof option['const'] !== 'string') return undefined
  return { value: option['const'], title: titleOr(option['title'], option['const']) }
}

function titleOr(title: unknown, value: string): string {
  return typeof title === 'string' && title !== '' ? title : value
}

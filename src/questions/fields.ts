/** The fields of a form: the primitive schemas of an elicitation, by how a person fills them in. */
import { isObject, type Json } from '../protocol/index.ts'

interface FieldBase {
  readonly name: string
  readonly label: string
  readonly description: string | undefined
  readonly required: boolean
}

export interface TextField extends FieldBase {
  readonly kind: 'text'
  readonly format: 'email' | 'uri' | 'date' | 'date-time' | undefined
  readonly minLength: number | undefined
  readonly maxLength: number | undefined
  readonly initial: string | undefined
}

export interface NumberField extends FieldBase {
  readonly kind: 'number'
  readonly isInteger: boolean
  readonly minimum: number | undefined
  readonly maximum: number | undefined
  readonly initial: number | undefined
}

export interface YesNoField extends FieldBase {
  readonly kind: 'yes-no'
  readonly initial: boolean | undefined
}

export interface ChoiceField extends FieldBase {
  readonly kind: 'choice'
  readonly choices: readonly Choice[]
  readonly initial: string | undefined
}

export interface ChoicesField extends FieldBase {
  readonly kind: 'choices'
  readonly choices: readonly Choice[]
  readonly minItems: number | undefined
  readonly maxItems: number | undefined
  readonly initial: readonly string[]
}

export interface Choice {
  readonly value: string
  readonly label: string
}

export type Field = TextField | NumberField | YesNoField | ChoiceField | ChoicesField

/** The fields of an elicitation's `requestedSchema`. What is no primitive schema is a text field. */
export function fieldsOf(requestedSchema: Json): readonly Field[] {
  const { properties, required } = requestedSchema
  const needed = Array.isArray(required) ? required : []
  return Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) =>
    fieldOf(name, isObject(schema) ? schema : {}, needed.includes(name)),
  )
}

function fieldOf(name: string, schema: Json, required: boolean): Field {
  const { type, title, description } = schema
  const initial = schema['default']
  const base = { name, label: textIn(title) ?? name, description: textIn(description), required }
  if (type === 'boolean')
    return { ...base, kind: 'yes-no', initial: typeof initial === 'boolean' ? initial : undefined }
  if (type === 'number' || type === 'integer') {
    const limits = { minimum: numberIn(schema['minimum']), maximum: numberIn(schema['maximum']) }
    return { ...base, kind: 'number', isInteger: type === 'integer', ...limits, initial: numberIn(initial) }
  }
  if (type === 'array') {
    const limits = { minItems: numberIn(schema['minItems']), maxItems: numberIn(schema['maxItems']) }
    const choices = choicesOf(isObject(schema['items']) ? schema['items'] : {}) ?? []
    return { ...base, kind: 'choices', choices, ...limits, initial: Array.isArray(initial) ? initial.map(String) : [] }
  }
  const choices = choicesOf(schema)
  if (choices !== undefined) return { ...base, kind: 'choice', choices, initial: textIn(initial) }
  const limits = { minLength: numberIn(schema['minLength']), maxLength: numberIn(schema['maxLength']) }
  return { ...base, kind: 'text', format: formatIn(schema['format']), ...limits, initial: textIn(initial) }
}

/** The choices of a schema, in each of the forms that revisions have: enum, enum with enumNames, oneOf and anyOf. */
function choicesOf(schema: Json): Choice[] | undefined {
  const titled = schema['oneOf'] ?? schema['anyOf']
  if (Array.isArray(titled))
    return titled.filter(isObject).map(({ const: value, title }) => choice(value, textIn(title)))
  const { enum: values, enumNames: names } = schema
  if (!Array.isArray(values)) return undefined
  const labels: readonly unknown[] = Array.isArray(names) ? names : []
  return values.map((value, at) => choice(value, textIn(labels[at])))
}

function choice(value: unknown, label: string | undefined): Choice {
  return { value: String(value), label: label ?? String(value) }
}

const FORMATS = ['email', 'uri', 'date', 'date-time'] as const

function formatIn(value: unknown): TextField['format'] {
  return FORMATS.find((format) => format === value)
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

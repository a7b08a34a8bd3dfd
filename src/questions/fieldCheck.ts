/** Checks values against the fields of a form, and reads what a person typed. No problem quotes the value. */
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { isObject, type Json } from '../protocol/index.ts'
import type { ChoicesField, Field, FieldValue, NumberField, TextField, TextFormat } from './fields.ts'
import { plainLine } from './safeText.ts'

export const FORMAT_EXAMPLES: Readonly<Record<TextFormat, string>> = {
  email: 'ada@example.com',
  uri: 'https://example.com/page',
  date: '2026-07-28',
  'date-time': '2026-07-28T14:30:00Z',
}

/** The problem of a value; undefined if it fits. */
export function problemOf(field: Field, value: unknown): string | undefined {
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' ? textProblem(field, value) : 'It must be text.'
    case 'number':
      return typeof value === 'number' ? numberProblem(field, value) : 'It must be a number.'
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'It must be true or false.'
    case 'choice':
      return valuesOf(field.choices).has(value) ? undefined : 'It must be one of the choices.'
    case 'choices':
      return choicesProblem(field, value)
    case 'unknown':
      return undefined
    default:
      return field satisfies never
  }
}

/** Everything that is wrong with the content of a form. */
export function contentProblems(fields: readonly Field[], content: unknown): readonly string[] {
  if (!isObject(content)) return ['The content must be an object.']
  const names = new Set(fields.map(({ key }) => key))
  const unknown = Object.keys(content).filter((key) => !names.has(key))
  return [
    ...fields.flatMap((field) => fieldProblems(field, content)),
    ...unknown.map((key) => `"${plainLine(key, 60)}" is not a field of the form.`),
  ]
}

function fieldProblems(field: Field, content: Json): readonly string[] {
  const name = `"${plainLine(field.key, 60)}"`
  const value = Object.hasOwn(content, field.key) ? content[field.key] : undefined
  if (value === undefined) return field.required ? [`${name} is missing.`] : []
  const problem = problemOf(field, value)
  return problem === undefined ? [] : [`${name}: ${problem}`]
}

export type Typed = { readonly value: FieldValue | undefined } | { readonly problem: string }

/** Reads a line that a person typed for a field. An optional field may be left empty. */
export function readTyped(field: TextField | NumberField, line: string): Typed {
  const typed = field.kind === 'text' && field.format === undefined ? line : line.trim()
  if (typed === '') return field.required ? { problem: 'This field is required.' } : { value: undefined }
  const value = field.kind === 'text' ? typed : readNumber(typed)
  const problem = problemOf(field, value)
  return problem === undefined ? { value: value as FieldValue } : { problem }
}

/** The default of a field, if it has one that fits the field. */
export function defaultOf(field: Field): FieldValue | undefined {
  if (field.kind === 'unknown' || field.default === undefined) return undefined
  return problemOf(field, field.default) === undefined ? field.default : undefined
}

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

function readNumber(typed: string): number | undefined {
  return DECIMAL.test(typed) ? Number(typed) : undefined
}

function textProblem({ format, minLength = 0, maxLength = Infinity }: TextField, value: string): string | undefined {
  const length = Array.from(value).length // JSON Schema counts characters, not UTF-16 units
  if (length < minLength) return `It needs at least ${counted(minLength, 'character')}.`
  if (length > maxLength) return `It may have at most ${counted(maxLength, 'character')}.`
  if (format !== undefined && !fitsFormat(format, value)) return FORMAT_PROBLEMS[format]
  return undefined
}

const FORMAT_PROBLEMS: Readonly<Record<TextFormat, string>> = {
  email: `It must be an email address, such as ${FORMAT_EXAMPLES.email}.`,
  uri: `It must be a whole address, such as ${FORMAT_EXAMPLES.uri}.`,
  date: `It must be a date, such as ${FORMAT_EXAMPLES.date}.`,
  'date-time': `It must be a time with its zone, such as ${FORMAT_EXAMPLES['date-time']}.`,
}

// The same patterns that most servers use, so that both sides agree. They are slow on long texts.
function fitsFormat(name: TextFormat, value: string): boolean {
  if (value.length > 2048) return false
  const format: unknown = fullFormats[name]
  if (format instanceof RegExp) return format.test(value)
  const validate = isObject(format) ? format['validate'] : format
  return validate instanceof RegExp ? validate.test(value) : (validate as (text: string) => boolean)(value)
}

function numberProblem({ integer, minimum, maximum }: NumberField, value: number): string | undefined {
  if (!Number.isFinite(value)) return 'It must be a number.'
  if (integer && !Number.isSafeInteger(value)) return 'It must be a whole number.'
  if (minimum !== undefined && value < minimum) return `It must be at least ${minimum}.`
  if (maximum !== undefined && value > maximum) return `It must be at most ${maximum}.`
  return undefined
}

function choicesProblem({ choices, minItems = 0, maxItems = Infinity }: ChoicesField, value: unknown) {
  if (!Array.isArray(value)) return 'It must be a list of choices.'
  const known = valuesOf(choices)
  if (!value.every((item) => known.has(item))) return 'Each must be one of the choices.'
  if (new Set(value).size < value.length) return 'Each choice counts once.'
  if (value.length < minItems) return `Choose at least ${minItems}.`
  if (value.length > maxItems) return `Choose at most ${maxItems}.`
  return undefined
}

// A set, because a server may send very many choices.
function valuesOf(choices: ChoicesField['choices']): ReadonlySet<unknown> {
  return new Set(choices.map(({ value }) => value))
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Reads what a person has filled in: the content of the answer, or what is wrong with each field. */
import type { Json } from '../protocol/index.ts'
import type { ChoicesField, Field, NumberField, TextField } from './fields.ts'

export type FormReading =
  | { readonly ok: true; readonly content: Json }
  /** Sentences by the names of fields. */
  | { readonly ok: false; readonly issues: ReadonlyMap<string, string> }

type FieldReading = { readonly value: unknown } | { readonly issue: string } | undefined

/** Inputs of a form have this prefix, so that no field can have the name of a button. */
export const INPUT_PREFIX = 'field.'

export function readForm(fields: readonly Field[], data: URLSearchParams): FormReading {
  const content = new Map<string, unknown>()
  const issues = new Map<string, string>()
  for (const field of fields) {
    const reading = readField(field, data.getAll(`${INPUT_PREFIX}${field.name}`))
    if (reading === undefined) {
      if (field.required) issues.set(field.name, 'This field is required.')
    } else if ('issue' in reading) issues.set(field.name, reading.issue)
    else content.set(field.name, reading.value)
  }
  return issues.size > 0 ? { ok: false, issues } : { ok: true, content: Object.fromEntries(content) }
}

/** Undefined if the field is empty. */
function readField(field: Field, inputs: readonly string[]): FieldReading {
  const [input = ''] = inputs
  if (field.kind === 'choices') return readChoices(field, inputs)
  if (input === '') return undefined
  switch (field.kind) {
    case 'text':
      return readText(field, input)
    case 'number':
      return readNumber(field, input)
    case 'yes-no':
      return input === 'yes' || input === 'no' ? { value: input === 'yes' } : { issue: 'Choose yes or no.' }
    case 'choice':
      return field.choices.some(({ value }) => value === input) ? { value: input } : { issue: 'Choose one of these.' }
    default:
      return field satisfies never
  }
}

function readChoices(
  { choices, required, minItems = 0, maxItems = Infinity }: ChoicesField,
  inputs: readonly string[],
): FieldReading {
  if (!inputs.every((input) => choices.some(({ value }) => value === input))) return { issue: 'Choose from these.' }
  if (inputs.length === 0 && !required) return undefined
  if (inputs.length < minItems) return { issue: `Choose at least ${minItems}.` }
  if (inputs.length > maxItems) return { issue: `Choose at most ${maxItems}.` }
  return { value: inputs }
}

function readNumber({ isInteger, minimum = -Infinity, maximum = Infinity }: NumberField, input: string): FieldReading {
  const value = Number(input)
  if (!Number.isFinite(value)) return { issue: 'Enter a number.' }
  if (isInteger && !Number.isInteger(value)) return { issue: 'Enter a whole number.' }
  if (value < minimum) return { issue: `Enter ${minimum} or more.` }
  if (value > maximum) return { issue: `Enter ${maximum} or less.` }
  return { value }
}

const FORMS: Readonly<Record<NonNullable<TextField['format']>, { fits: (text: string) => boolean; issue: string }>> = {
  email: { fits: (text) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text), issue: 'Enter an email address.' },
  uri: { fits: (text) => URL.canParse(text), issue: 'Enter a whole address, such as https://example.com.' },
  date: { fits: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDate(text), issue: 'Enter a date, such as 2026-07-28.' },
  'date-time': {
    fits: (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && isDate(text),
    issue: 'Enter a date and time, such as 2026-07-28T12:00:00Z.',
  },
}

function readText({ format, minLength = 0, maxLength = Infinity }: TextField, input: string): FieldReading {
  // Browsers send line breaks as two characters.
  const value = input.replaceAll('\r\n', '\n')
  const length = Array.from(value).length // as JSON Schema counts
  if (length < minLength) return { issue: `Enter at least ${minLength} characters.` }
  if (length > maxLength) return { issue: `Enter at most ${maxLength} characters.` }
  if (format === undefined) return { value }
  const { fits, issue } = FORMS[format]
  return fits(value) ? { value } : { issue }
}

function isDate(text: string): boolean {
  return !Number.isNaN(Date.parse(text))
}

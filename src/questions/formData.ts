/** Reads a person's input on a page: the content of the answer, or the problem of each field. */
import type { Json } from '../protocol/index.ts'
import { problemOf, readTyped, type Typed } from './fieldCheck.ts'
import type { Field } from './fields.ts'

export type FormReading =
  | { readonly ok: true; readonly content: Json }
  /** Sentences by the names of fields. */
  | { readonly ok: false; readonly issues: ReadonlyMap<string, string> }

/** Inputs of a form have this prefix, so that no field can have the name of a button. */
export const INPUT_PREFIX = 'field.'

export function readForm(fields: readonly Field[], data: URLSearchParams): FormReading {
  const inputs = inputsByName(data)
  const content = new Map<string, unknown>()
  const issues = new Map<string, string>()
  for (const field of fields) {
    const typed = readField(field, inputs.get(`${INPUT_PREFIX}${field.key}`) ?? [])
    if ('problem' in typed) issues.set(field.key, typed.problem)
    else if (typed.value !== undefined) content.set(field.key, typed.value)
  }
  return issues.size > 0 ? { ok: false, issues } : { ok: true, content: Object.fromEntries(content) }
}

/** All values by their names. URLSearchParams would scan all entries for each name. */
export function inputsByName(data: URLSearchParams): ReadonlyMap<string, readonly string[]> {
  const inputs = new Map<string, string[]>()
  for (const [name, value] of data) {
    const known = inputs.get(name)
    if (known === undefined) inputs.set(name, [value])
    else known.push(value)
  }
  return inputs
}

function readField(field: Field, inputs: readonly string[]): Typed {
  const [input = ''] = inputs
  switch (field.kind) {
    case 'text':
      // Browsers send line breaks as two characters.
      return readTyped(field, input.replaceAll('\r\n', '\n'))
    case 'number':
      return readTyped(field, input)
    case 'boolean':
      return checked(field, input === 'yes' ? true : input === 'no' ? false : emptyOr(input))
    case 'choice':
      return checked(field, emptyOr(input))
    case 'choices':
      return checked(field, inputs.length === 0 && !field.required ? undefined : inputs)
    case 'unknown':
      return { value: undefined }
    default:
      return field satisfies never
  }
}

function emptyOr(input: string): string | undefined {
  return input === '' ? undefined : input
}

function checked(field: Field, value: string | boolean | readonly string[] | undefined): Typed {
  if (value === undefined) return field.required ? { problem: 'This field is required.' } : { value }
  const problem = problemOf(field, value)
  return problem === undefined ? { value } : { problem }
}

import type { Json } from '../../protocol/index.ts'
import type { Answerer, Asked } from '../questions/answerer.ts'
import { defaultOf } from '../questions/fieldCheck.ts'
import { readFields } from '../questions/fields.ts'
import { wrongKind } from '../questions/response.ts'

export interface DefaultsOptions {
  /** Answers the rest: forms with a required field that has no default, pages to visit. @default these are declined */
  otherwise?: Answerer
}

/** Accepts each form with the defaults that its schema names, and without asking anybody. */
export function defaults({ otherwise = decline }: DefaultsOptions = {}): Answerer {
  return (asked) => {
    const content = filledIn(asked.request)
    return content === undefined ? otherwise(asked) : { action: 'accept', content }
  }
}

const decline: Answerer = ({ key, request }) => {
  if (request.method !== 'elicitation/create') throw wrongKind(key, 'defaults()', request)
  return { action: 'decline' }
}

/** Undefined where it is no form, or a required field has no default. */
function filledIn({ method, params }: Asked['request']): Json | undefined {
  if (method !== 'elicitation/create' || params.mode === 'url') return undefined
  const filled = readFields(params.requestedSchema).map((field) => ({ field, value: defaultOf(field) }))
  if (filled.some(({ field, value }) => field.required && value === undefined)) return undefined
  const given = filled.filter(({ value }) => value !== undefined)
  return Object.fromEntries(given.map(({ field, value }) => [field.key, value]))
}

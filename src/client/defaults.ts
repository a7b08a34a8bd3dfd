import type { Json } from '../protocol/index.ts'
import type { Answerer } from './answerer.ts'
import { defaultOf } from './fieldCheck.ts'
import { readFields } from './formFields.ts'
import { wrongKind } from './response.ts'

/**
 * Accepts each form with the defaults that its schema names, and without asking anybody. Where a required field has
 * no default it declines. A page to visit it declines, too: nobody is there to visit it.
 */
export function defaults(): Answerer {
  return ({ key, request }): Json => {
    if (request.method !== 'elicitation/create') throw wrongKind(key, 'defaults()', request)
    if (request.params.mode === 'url') return { action: 'decline' }
    const fields = readFields(request.params.requestedSchema)
    const filled = fields.map((field) => ({ field, value: defaultOf(field) }))
    if (filled.some(({ field, value }) => field.required && value === undefined)) return { action: 'decline' }
    const content = filled.filter(({ value }) => value !== undefined).map(({ field, value }) => [field.key, value])
    return { action: 'accept', content: Object.fromEntries(content) as Json }
  }
}

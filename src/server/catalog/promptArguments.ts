/** Arguments of prompts. They travel as strings, so a field that takes no string could never be sent. */
import { isObject, type Json } from '../../protocol/index.ts'
import type { SchemaLike } from '../schema/schema.ts'

/** Throws for a field that no string fits. */
export function assertSendable(schema: SchemaLike, json: Json, what: string): void {
  const { properties } = json
  for (const [name, property] of Object.entries(isObject(properties) ? properties : {})) {
    if (!isObject(property) || takesStrings(property) || convertsStrings(schema, name)) continue
    throw new TypeError(
      `The ${what} has an argument "${name}" that no string fits. Arguments of prompts are strings: ` +
        'take a string and convert it, such as z.string().transform(Number).',
    )
  }
}

function takesStrings({ type, anyOf, oneOf }: Json): boolean {
  const choices = [anyOf, oneOf].find((each): each is unknown[] => Array.isArray(each))
  if (choices !== undefined) return choices.some((choice) => !isObject(choice) || takesStrings(choice))
  return type === undefined || (Array.isArray(type) ? type.includes('string') : type === 'string')
}

const SAMPLES = ['1', 'true', 'a', '2026-07-28', '2026-07-28T00:00:00Z']

/** Whether the schema converts strings although its JSON Schema does not say so, as `z.coerce.number()` does. */
function convertsStrings(schema: SchemaLike, name: string): boolean {
  if (!('~standard' in schema)) return false
  const { validate } = schema['~standard'] as { validate(value: unknown): unknown }
  return SAMPLES.some((sample) => {
    const result = validate({ [name]: sample })
    // A schema that checks asynchronously is not tried.
    if (result instanceof Promise || !isObject(result) || !Array.isArray(result['issues'])) return true
    return !result['issues'].some((issue: unknown) => isAbout(issue, name))
  })
}

function isAbout(issue: unknown, name: string): boolean {
  const path: unknown = isObject(issue) ? issue['path'] : undefined
  const first: unknown = Array.isArray(path) ? path[0] : undefined
  return (isObject(first) ? first['key'] : first) === name
}

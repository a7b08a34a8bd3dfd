/** `--arg name=value`, typed by the tool's schema: `n=3` becomes a number where the schema says number. */
import { plainLine } from '../../client/index.ts'
import { isObject, type Json, parseJson } from '../../protocol/index.ts'
import { InputError } from '../exit.ts'

/** The words for error messages. */
export interface ArgumentWords {
  readonly option: string
  /** The owner of the schema. */
  readonly asker: string
  /** A property of the schema. */
  readonly member: string
}

const ARGUMENTS: ArgumentWords = { option: '--arg', asker: 'tool', member: 'argument' }

/** Makes arguments of pairs. A name may be repeated where its value is a list. */
export function typedArguments(pairs: readonly string[], schema: Json, wording: ArgumentWords = ARGUMENTS): Json {
  const given = new Map<string, string[]>()
  for (const pair of pairs) {
    const [name, value] = splitPair(pair, wording.option)
    given.set(name, [...(given.get(name) ?? []), value])
  }
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  return Object.fromEntries(
    [...given].map(([name, values]) => {
      const known = Object.hasOwn(properties, name)
      if (!known && schema['additionalProperties'] === false) throw unknownName(name, Object.keys(properties), wording)
      return [name, argumentValue(name, values, valueSchemaOf(known ? properties[name] : {}, schema), wording)]
    }),
  )
}

// Keywords that can allow further properties. With one of these keywords, a name outside `properties` may still be
// valid.
const NAMING_ELSEWHERE = [
  'additionalProperties',
  'patternProperties',
  '$ref',
  'allOf',
  'anyOf',
  'oneOf',
  'if',
  'dependentSchemas',
]

/** The names that a schema does not mention at all, and that may be typing errors. */
export function unnamedArguments(pairs: readonly string[], schema: Json): readonly string[] {
  const { properties } = schema
  if (!isObject(properties) || NAMING_ELSEWHERE.some((keyword) => schema[keyword] !== undefined)) return []
  const names = new Set(pairs.map((pair) => splitPair(pair, ARGUMENTS.option)[0]))
  return [...names].filter((name) => !Object.hasOwn(properties, name))
}

/** `name=value` as strings: prompts take only strings. */
export function stringArguments(pairs: readonly string[]): Record<string, string> {
  const entries = pairs.map((pair) => splitPair(pair, ARGUMENTS.option))
  const twice = entries.find(([name], index) => entries.findIndex(([other]) => other === name) !== index)
  if (twice !== undefined) throw new InputError(`--arg ${twice[0]} is given twice.`)
  return Object.fromEntries(entries)
}

export function splitPair(pair: string, option: string): [name: string, value: string] {
  const at = pair.indexOf('=')
  if (at < 1) throw new InputError(`${option} takes name=value.`)
  return [pair.slice(0, at), pair.slice(at + 1)]
}

/** What a schema allows: JSON types (none means any), listed values, and the schema of array items. */
interface ValueSchema {
  readonly types: ReadonlySet<string>
  readonly listed: readonly unknown[]
  readonly items: unknown
  readonly root: Json
}

/** Collects a schema and all schemas that it refers to or combines. Each is visited once, so circular references end. */
function valueSchemaOf(schema: unknown, root: Json): ValueSchema {
  const parts = new Set([schema].filter(isObject))
  // Iteration over a Set includes elements that are added meanwhile.
  for (const part of parts) {
    const named = [part['anyOf'], part['oneOf'], part['allOf']].flatMap(asList)
    for (const next of [resolveReference(part['$ref'], root), ...named].filter(isObject)) parts.add(next)
  }
  const all = [...parts]
  return {
    types: new Set(all.flatMap((part) => [part['type']].flat()).filter((type) => typeof type === 'string')),
    listed: all.flatMap((part) => [...asList(part['enum']), ...('const' in part ? [part['const']] : [])]),
    items: all.find((part) => part['items'] !== undefined)?.['items'],
    root,
  }
}

/** Follows a reference within the schema, such as `#/$defs/colour`, and no other. */
function resolveReference(reference: unknown, root: Json): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return undefined
  const path = unescaped(reference.slice(2))?.split('/')
  return path?.reduce<unknown>((at, step) => {
    const name = step.replace(/~1/g, '/').replace(/~0/g, '~')
    return isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }, root)
}

function unescaped(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}

function argumentValue(name: string, values: readonly string[], form: ValueSchema, wording: ArgumentWords): unknown {
  const [first = ''] = values
  if (values.length === 1 && !(form.types.has('array') && !first.startsWith('['))) {
    return readTyped(name, first, form, wording)
  }
  if (!form.types.has('array')) {
    throw new InputError(`${wording.option} ${name} is given ${values.length} times, but is no list.`)
  }
  return values.map((value) => readTyped(name, value, valueSchemaOf(form.items, form.root), wording))
}

// Types with the strictest syntax come first; a text that fits no other type is a string.
const READERS: readonly (readonly [type: string, read: (text: string) => unknown])[] = [
  ['null', (text) => (text === 'null' ? null : undefined)],
  ['boolean', (text) => (text === 'true' ? true : text === 'false' ? false : undefined)],
  ['integer', (text) => (/^-?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined)],
  ['number', (text) => (/^-?(\d|\.\d)/.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined)],
  ['array', (text) => jsonFrom('[', text)],
  ['object', (text) => jsonFrom('{', text)],
  ['string', (text) => text],
]

function readTyped(
  name: string,
  text: string,
  { types, listed }: ValueSchema,
  { option, asker }: ArgumentWords,
): unknown {
  const chosen = listed.find((value) => value === text) ?? listed.find((value) => String(value) === text)
  if (chosen !== undefined) return chosen
  for (const [type, reader] of READERS) {
    const value = types.size === 0 || types.has(type) ? reader(text) : undefined
    if (value !== undefined) return value
  }
  throw new InputError(`${option} ${name}: the ${asker} wants ${typesText(types)} here.`)
}

function jsonFrom(start: '[' | '{', text: string): unknown {
  return text.trimStart().startsWith(start) ? parseJson(text) : undefined
}

function typesText(types: ReadonlySet<string>): string {
  const names = [...types].map((type) => (type === 'array' || type === 'object' ? `${type} (as JSON)` : type))
  return plainLine(names.join(' or '))
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function unknownName(name: string, known: readonly string[], { asker, member }: ArgumentWords): InputError {
  return new InputError(
    known.length === 0
      ? `The ${asker} takes no ${member}s, so not "${name}".`
      : `The ${asker} has no ${member} "${name}"; it has ${plainLine(known.join(', '), 1_000)}.`,
  )
}

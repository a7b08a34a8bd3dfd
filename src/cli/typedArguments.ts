/** `--arg name=value`, typed by the input schema of the tool: `n=3` is a number where the tool wants a number. */
import { isObject, type Json } from '../protocol/index.ts'
import { InputError } from './inputError.ts'

/** Makes arguments of pairs. A name may come again where its value is a list. */
export function typedArguments(pairs: readonly string[], schema: Json): Json {
  const given = new Map<string, string[]>()
  for (const [name, value] of pairs.map(splitPair)) given.set(name, [...(given.get(name) ?? []), value])
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  return Object.fromEntries(
    [...given].map(([name, values]) => {
      const known = Object.hasOwn(properties, name)
      if (!known && schema['additionalProperties'] === false) throw unknownName(name, Object.keys(properties))
      return [name, valueOf(name, values, formOf(known ? properties[name] : {}, schema))]
    }),
  )
}

/** `name=value`, as it stands: prompts take strings only. */
export function stringArguments(pairs: readonly string[]): Record<string, string> {
  const entries = pairs.map(splitPair)
  const twice = entries.find(([name], index) => entries.findIndex(([other]) => other === name) !== index)
  if (twice !== undefined) throw new InputError(`--arg ${twice[0]} is given twice.`)
  return Object.fromEntries(entries)
}

function splitPair(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=')
  if (at < 1) throw new InputError('--arg takes name=value.')
  return [pair.slice(0, at), pair.slice(at + 1)]
}

/** What a value may be: its JSON types (none means any), the values that are listed, and the form of its items. */
interface Form {
  readonly types: ReadonlySet<string>
  readonly listed: readonly unknown[]
  readonly items: unknown
  readonly root: Json
}

const MAX_DEPTH = 8

function formOf(schema: unknown, root: Json, depth = 0): Form {
  const types = new Set<string>()
  const listed: unknown[] = []
  if (!isObject(schema) || depth > MAX_DEPTH) return { types, listed, items: undefined, root }
  const own = [schema['type']].flat().filter((type) => typeof type === 'string')
  for (const type of own) types.add(type)
  for (const value of [...asList(schema['enum']), ...('const' in schema ? [schema['const']] : [])]) listed.push(value)
  let { items } = schema
  const parts = [target(schema['$ref'], root), ...asList(schema['anyOf']), ...asList(schema['oneOf'])]
  for (const part of [...parts, ...asList(schema['allOf'])].filter((part) => part !== undefined)) {
    const form = formOf(part, root, depth + 1)
    for (const type of form.types) types.add(type)
    listed.push(...form.listed)
    items ??= form.items
  }
  return { types, listed, items, root }
}

/** A reference within the schema, such as `#/$defs/colour`. Others are not followed. */
function target(reference: unknown, root: Json): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return undefined
  const path = reference.slice(2).split('/')
  return path.reduce<unknown>((at, step) => {
    const name = decodeURIComponent(step).replace(/~1/g, '/').replace(/~0/g, '~')
    return isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }, root)
}

function valueOf(name: string, values: readonly string[], form: Form): unknown {
  const [first = ''] = values
  if (values.length === 1 && !(form.types.has('array') && !first.startsWith('['))) return read(name, first, form)
  if (!form.types.has('array')) throw new InputError(`--arg ${name} is given ${values.length} times, but is no list.`)
  return values.map((value) => read(name, value, formOf(form.items, form.root)))
}

// The types that are written in one way only come first; what is none of them can only be a text.
const READERS: readonly (readonly [type: string, read: (text: string) => unknown])[] = [
  ['null', (text) => (text === 'null' ? null : undefined)],
  ['boolean', (text) => (text === 'true' ? true : text === 'false' ? false : undefined)],
  ['integer', (text) => (/^-?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined)],
  ['number', (text) => (/^-?(\d|\.\d)/.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined)],
  ['array', (text) => parsed(text, '[')],
  ['object', (text) => parsed(text, '{')],
  ['string', (text) => text],
]

function read(name: string, text: string, { types, listed }: Form): unknown {
  const chosen = listed.find((value) => value === text) ?? listed.find((value) => String(value) === text)
  if (chosen !== undefined) return chosen
  for (const [type, reader] of READERS) {
    const value = types.size === 0 || types.has(type) ? reader(text) : undefined
    if (value !== undefined) return value
  }
  throw new InputError(`--arg ${name}: the tool wants ${wanted(types)} here.`)
}

function parsed(text: string, start: string): unknown {
  if (!text.trimStart().startsWith(start)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function wanted(types: ReadonlySet<string>): string {
  const names = [...types].map((type) => (type === 'array' || type === 'object' ? `${type} (as JSON)` : type))
  return names.join(' or ')
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function unknownName(name: string, known: readonly string[]): InputError {
  return new InputError(
    known.length === 0
      ? `The tool takes no arguments, so not "${name}".`
      : `The tool has no argument "${name}"; it has ${known.join(', ')}.`,
  )
}

/**
 * A tool's definition as digests of its parts: what a model and its user read before they let the tool run. Two
 * definitions are compared by them, and the difference is told in words, without keeping the definitions.
 */
import { isObject, type Json } from '../../protocol/index.ts'
import { digestOf } from '../../state/internal.ts'

/** A digest for each part, by its name: `description`, `inputSchema`, `inputSchema.properties.path`. */
export type DefinitionDigests = Readonly<Record<string, string>>

const TEXTS = ['title', 'description', 'annotations'] as const
const SCHEMAS = ['inputSchema', 'outputSchema'] as const
const PROPERTIES = '.properties.'
// A larger schema is one part.
const MAX_PROPERTIES = 200
const MAX_TOLD = 6

export function definitionDigests(tool: Json): DefinitionDigests {
  return Object.fromEntries([
    ...TEXTS.filter((part) => tool[part] !== undefined).map((part) => [part, digestOfPart(tool[part])] as const),
    ...SCHEMAS.flatMap((part) => schemaDigests(part, tool[part])),
  ])
}

/** JSON.parse reads some numbers as values that have no digest, such as 1e400. */
function digestOfPart(value: unknown): string {
  try {
    return digestOf(value)
  } catch {
    return digestOf(JSON.stringify(value))
  }
}

/** The properties one by one, and everything else of the schema together. */
function schemaDigests(part: string, schema: unknown): readonly (readonly [string, string])[] {
  if (schema === undefined) return []
  const { properties, ...rest } = isObject(schema) ? schema : {}
  const all = isObject(properties) ? Object.entries(properties) : []
  if (all.length === 0 || all.length > MAX_PROPERTIES) return [[part, digestOfPart(schema)]]
  return [
    [part, digestOfPart(rest)],
    ...all.map(([name, property]) => [`${part}${PROPERTIES}${name}`, digestOfPart(property)] as const),
  ]
}

/** The text of a part is kept up to here; a longer one says how much is missing. */
const MAX_NEWS_CHARS = 8000
const MAX_NEWS = 20

/** What the parts say that are new or have changed, by their names. */
export function definitionNews(before: DefinitionDigests, tool: Json): Readonly<Record<string, string>> {
  const after = definitionDigests(tool)
  const parts = Object.keys(after).filter((part) => before[part] !== after[part])
  return Object.fromEntries(parts.slice(0, MAX_NEWS).map((part) => [part, partOf(tool, part)]))
}

function partOf(tool: Json, part: string): string {
  const [name = '', ...property] = part.split(PROPERTIES)
  const whole = tool[name]
  const value = property.length === 0 ? whole : propertyOf(whole, property.join(PROPERTIES))
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
  const missing = text.length - MAX_NEWS_CHARS
  return missing <= 0 ? text : `${text.slice(0, MAX_NEWS_CHARS)}… (${missing} more characters)`
}

function propertyOf(schema: unknown, name: string): unknown {
  const properties = isObject(schema) ? schema['properties'] : undefined
  return isObject(properties) ? properties[name] : undefined
}

/** `The description and the property "path" of inputSchema changed.` Undefined where nothing did. */
export function definitionChange(before: DefinitionDigests, after: DefinitionDigests): string | undefined {
  const parts = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const had = (part: string): boolean => Object.hasOwn(before, part)
  const has = (part: string): boolean => Object.hasOwn(after, part)
  const changed = listed(parts.filter((part) => had(part) && has(part) && before[part] !== after[part]))
  const added = listed(parts.filter((part) => !had(part)))
  const removed = listed(parts.filter((part) => !has(part)))
  const sentences = [
    changed && `${changed.replace(/^t/, 'T')} changed.`,
    added && `Added: ${added}.`,
    removed && `Removed: ${removed}.`,
  ].filter((sentence) => sentence !== undefined)
  return sentences.length === 0 ? undefined : sentences.join(' ')
}

function listed(parts: readonly string[]): string | undefined {
  const told = parts.slice(0, MAX_TOLD).map(partText)
  const words = parts.length > MAX_TOLD ? [...told, `${parts.length - MAX_TOLD} more`] : told
  return words.length < 2 ? words[0] : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}

function partText(part: string): string {
  const [schema = '', ...name] = part.split(PROPERTIES)
  return name.length === 0 ? `the ${part}` : `the property ${quoted(name.join(PROPERTIES))} of ${schema}`
}

/** A name that a server chose, on one line. */
function quoted(name: string): string {
  const characters = Array.from(name)
  return JSON.stringify(characters.length <= 40 ? name : `${characters.slice(0, 39).join('')}…`)
}

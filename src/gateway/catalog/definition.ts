/**
 * Digests of a tool's definition, one for each part: all its members but the name. A model, a client and its user read
 * these parts before the tool runs. Comparing digests makes it unnecessary to store definitions.
 */
import { inSlices, isObject, type Json, remembered } from '../../protocol/index.ts'
import { digestOf } from '../../state/internal.ts'

/** A digest for each part, by its name: `description`, `inputSchema`, `inputSchema.properties.path`. */
export type DefinitionDigests = Readonly<Record<string, string>>

const SINGLE = ['title', 'description', 'annotations', 'icons', 'execution', '_meta'] as const
const SCHEMAS = ['inputSchema', 'outputSchema'] as const
/** All members outside the specification are one part, whatever their names. */
const OTHERS = 'other members'
const NAMED: ReadonlySet<string> = new Set(['name', ...SINGLE, ...SCHEMAS])
const PROPERTIES = '.properties.'
// A larger schema is one part.
const MAX_PROPERTIES = 200
const MAX_TOLD = 6

/** Remembered, because the definitions of a list are compared before and after the pins are locked, and when others are accepted. */
export const definitionDigests = remembered(digestsOf)

/**
 * Precomputes the digests of a list, and the texts if they are to be pinned, in slices: comparing a long list does not
 * block other calls.
 */
export function prepareDigests(tools: readonly Json[], withTexts: boolean): Promise<void> {
  return inSlices(tools, (tool) => {
    definitionDigests(tool)
    if (withTexts) definitionTexts(tool)
  })
}

function digestsOf(tool: Json): DefinitionDigests {
  return Object.fromEntries([
    ...SINGLE.filter((part) => tool[part] !== undefined).map((part) => [part, digestOfPart(tool[part])] as const),
    ...SCHEMAS.flatMap((part) => schemaDigests(part, tool[part])),
    ...otherMembers(tool).map((others) => [OTHERS, digestOfPart(others)] as const),
  ])
}

/** All members outside the specification as one object, if any. */
function otherMembers(tool: Json): readonly Json[] {
  const others = Object.entries(tool).filter(([member]) => !NAMED.has(member))
  return others.length === 0 ? [] : [Object.fromEntries(others)]
}

/** Some numbers parsed by JSON.parse have no digest, such as 1e400. */
function digestOfPart(value: unknown): string {
  try {
    return digestOf(value)
  } catch {
    return digestOf(JSON.stringify(value))
  }
}

/** A digest for each property, and one for the rest of the schema. */
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

/** Maximum length of a part's text; a longer one says how much is missing. */
const MAX_NEWS_CHARS = 8000
const MAX_NEWS = 20

/** The texts of new and changed parts, by their names. */
export function definitionNews(before: DefinitionDigests, tool: Json): Readonly<Record<string, string>> {
  const after = definitionDigests(tool)
  const parts = Object.keys(after).filter((part) => before[part] !== after[part])
  const shown = parts.slice(0, MAX_NEWS).map((part) => [part, partOf(tool, part)] as const)
  const missing = parts.length - shown.length
  return Object.fromEntries(missing === 0 ? shown : [...shown, ['…', `(${missing} more parts, which are not shown)`]])
}

/** The texts of all parts, by their names. */
export const definitionTexts = remembered((tool: Json) => definitionNews({}, tool))

function partOf(tool: Json, part: string): string {
  const [name = '', ...property] = part.split(PROPERTIES)
  const whole = name === OTHERS ? otherMembers(tool)[0] : tool[name]
  const value = property.length === 0 ? whole : propertyOf(whole, property.join(PROPERTIES))
  // Without indentation, which would make deep nesting a hundred times as long.
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const missing = text.length - MAX_NEWS_CHARS
  return missing <= 0 ? text : `${text.slice(0, MAX_NEWS_CHARS)}… (${missing} more characters)`
}

function propertyOf(schema: unknown, name: string): unknown {
  const properties = isObject(schema) ? schema['properties'] : undefined
  return isObject(properties) ? properties[name] : undefined
}

/** `The description and the property "path" of inputSchema changed.` Undefined if nothing did. */
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

/** Quotes a name that a server chose, on one line. */
function quoted(name: string): string {
  const characters = Array.from(name)
  return JSON.stringify(characters.length <= 40 ? name : `${characters.slice(0, 39).join('')}…`)
}

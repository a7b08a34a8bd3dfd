/**
 * Schemas of a document as one JSON Schema 2020-12. Referenced schemas are in `$defs`, and the dialect of OpenAPI 3.0
 * is translated. Its size is limited. Within one schema the parts that come last in breadth are left open, so that they
 * accept anything.
 */
import { isObject, type Json } from '../protocol/index.ts'
import { member, memberObject, memberText, type OpenApiDocument, resolved } from './document.ts'

/** Input: the API's requests. Output: its responses. */
export type SchemaUse = 'input' | 'output'

/** The largest schema of a tool, in characters. All tools of a list are sent to models. */
const MAX_SCHEMA_CHARACTERS: Readonly<Record<SchemaUse, number>> = { input: 32_000, output: 16_000 }
const MAX_DESCRIPTION_CHARACTERS = 500

const VALUES = [
  'type',
  'enum',
  'const',
  'required',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
] as const
/** Constraints that models should know, but that refuse no response. APIs keep to their own formats loosely. */
const HINTS = ['format', 'pattern', 'default', 'uniqueItems', 'multipleOf'] as const
const SCHEMA = ['items', 'additionalProperties', 'not', 'contains', 'propertyNames'] as const
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const

export class SchemaWriter {
  readonly #document: OpenApiDocument
  readonly #use: SchemaUse
  /** The name in `$defs` of each reference, in the order in which they were met. */
  readonly #names = new Map<string, string>()
  readonly #taken = new Set<string>()
  #left: number

  constructor(document: OpenApiDocument, use: SchemaUse) {
    this.#document = document
    this.#use = use
    this.#left = MAX_SCHEMA_CHARACTERS[use]
  }

  /** Whether parts were left open. */
  get isCut(): boolean {
    return this.#left < 0
  }

  /** Writes all that the written schemas refer to; undefined if there is nothing. */
  definitions(): Json | undefined {
    const written: [string, unknown][] = []
    // The map grows while it is iterated.
    for (const [reference, name] of this.#names)
      written.push([name, this.write(resolved(this.#document, { $ref: reference }))])
    return written.length === 0 ? undefined : Object.fromEntries(written)
  }

  write(schema: unknown): unknown {
    if (typeof schema === 'boolean') return schema
    if (!isObject(schema) || this.isCut) return {}
    const reference = memberText(schema, '$ref')
    const written = reference === undefined ? this.#translated(schema) : this.#referring(reference, schema)
    return this.#nullable(schema, written)
  }

  #referring(reference: string, schema: Json): Json {
    const name = this.#names.get(reference) ?? this.#named(reference)
    const description = descriptionOf(schema)
    this.#left -= name.length + 20 + (description?.length ?? 0)
    return { $ref: `#/$defs/${name}`, ...(description !== undefined && { description }) }
  }

  #named(reference: string): string {
    resolved(this.#document, { $ref: reference }) // throws if the reference has no target
    const last = reference.slice(reference.lastIndexOf('/') + 1).replace(/[^\w.-]/g, '_')
    let name = `${last.slice(0, 60) || 'schema'}`
    for (let count = 2; this.#taken.has(name) || name === '__proto__'; count++) name = `${last.slice(0, 60)}_${count}`
    this.#taken.add(name)
    this.#names.set(reference, name)
    return name
  }

  #translated(schema: Json): Json {
    const hints = this.#use === 'input' ? HINTS : []
    const plain = [...VALUES, ...hints].flatMap((name) => {
      const value = member(schema, name)
      return value === undefined ? [] : [[name, value] as const]
    })
    const description = descriptionOf(schema)
    const members: Record<string, unknown> = {
      ...Object.fromEntries(plain),
      ...(description !== undefined && { description }),
    }
    if (this.#document.is30) translateLimits(members)
    this.#left -= JSON.stringify(members).length
    for (const name of SCHEMA) {
      const value = member(schema, name)
      if (isObject(value) || typeof value === 'boolean') members[name] = this.write(value)
    }
    for (const name of LISTS) {
      const value = member(schema, name)
      if (Array.isArray(value) && value.length > 0) members[name] = value.map((each) => this.write(each))
    }
    if (this.#use === 'output') loosenChoice(members)
    this.#writeProperties(schema, members)
    return members
  }

  /** The properties without those that are only for the other direction. */
  #writeProperties(schema: Json, members: Record<string, unknown>): void {
    const properties = member(schema, 'properties')
    if (!isObject(properties)) return
    const [left, kept] = [new Set<string>(), [] as [string, unknown][]]
    for (const [name, property] of Object.entries(properties)) {
      if (this.#isForOther(property)) {
        left.add(name)
        continue
      }
      this.#left -= name.length + 4
      if (!this.isCut) kept.push([name, this.write(property)])
    }
    members['properties'] = Object.fromEntries(kept)
    if (!Array.isArray(members['required'])) return
    const required = members['required'].filter((name) => typeof name === 'string' && !left.has(name))
    if (required.length > 0) members['required'] = required
    else delete members['required']
  }

  #isForOther(property: unknown): boolean {
    const found = memberText(property, '$ref') === undefined ? property : resolved(this.#document, property)
    return member(found, this.#use === 'input' ? 'readOnly' : 'writeOnly') === true
  }

  /** `nullable` of OpenAPI 3.0. */
  #nullable(schema: Json, written: Json): Json {
    if (!this.#document.is30 || member(schema, 'nullable') !== true) return written
    const { type, enum: choices, ...rest } = written
    if (typeof type !== 'string' || Object.hasOwn(written, '$ref')) return { anyOf: [written, { type: 'null' }] }
    const withNull = Array.isArray(choices) && { enum: [...new Set<unknown>(choices).add(null)] }
    return { type: [type, 'null'], ...withNull, ...rest }
  }
}

/** If several choices fit, `oneOf` would refuse the response. Documents seldom mean that. */
function loosenChoice(members: Record<string, unknown>): void {
  if (members['oneOf'] === undefined || members['anyOf'] !== undefined) return
  members['anyOf'] = members['oneOf']
  delete members['oneOf']
}

/** In OpenAPI 3.0 an exclusive limit is a flag beside the limit. */
function translateLimits(members: Record<string, unknown>): void {
  for (const [limit, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof members[exclusive] !== 'boolean') continue
    if (members[exclusive] && typeof members[limit] === 'number') {
      members[exclusive] = members[limit]
      delete members[limit]
    } else delete members[exclusive]
  }
}

function descriptionOf(schema: Json): string | undefined {
  const description = memberText(schema, 'description') ?? memberText(schema, 'title')
  return description === undefined || description === ''
    ? undefined
    : shortText(description, MAX_DESCRIPTION_CHARACTERS)
}

export function shortText(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}

/** Whether a schema says that its values are of a type. */
export function isOfType(document: OpenApiDocument, schema: unknown, type: string): boolean {
  const found = resolved(document, schema)
  const said = member(found, 'type')
  if (said !== undefined) return said === type || (Array.isArray(said) && said.includes(type))
  return type === 'object' && Object.keys(memberObject(found, 'properties')).length > 0
}

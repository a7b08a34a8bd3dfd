/** Tools, prompts and resources as text for people. */
import type { Prompt, Resource, ResourceTemplateType, Tool } from '@modelcontextprotocol/client'
import { plainLine, plainText } from '../../client/index.ts'
import { isObject, type Json } from '../../protocol/index.ts'

interface Argument {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly description: string | undefined
}

export function toolsText(tools: readonly Tool[]): string {
  return entriesText('tools', tools, ({ name, title, description, inputSchema }) =>
    entry(name, title, description, argumentsOf(inputSchema)),
  )
}

export function promptsText(prompts: readonly Prompt[]): string {
  return entriesText('prompts', prompts, ({ name, title, description, arguments: given = [] }) => {
    const args = given.map((argument) => ({
      name: argument.name,
      type: 'string',
      required: argument.required ?? false,
      description: argument.description,
    }))
    return entry(name, title, description, args)
  })
}

export function resourcesText(resources: readonly Resource[], templates: readonly ResourceTemplateType[]): string {
  const all = [
    ...resources.map((resource) => ({ ...resource, address: resource.uri })),
    ...templates.map((template) => ({ ...template, address: template.uriTemplate })),
  ]
  return entriesText('resources', all, ({ address, name, title, mimeType, description }) => {
    const kind = mimeType === undefined ? '' : ` (${plainLine(mimeType, 60)})`
    return entry(address, `${plainLine(title ?? name)}${kind}`, description, [])
  })
}

function entriesText<T>(kind: string, items: readonly T[], text: (item: T) => string): string {
  return items.length === 0 ? `The server has no ${kind}.` : items.map(text).join('\n\n')
}

function entry(
  name: string,
  title: string | undefined,
  description: string | undefined,
  args: readonly Argument[],
): string {
  const heading = title === undefined || title === name ? plainLine(name) : `${plainLine(name)}  ${plainLine(title)}`
  const lines = description === undefined ? [] : plainText(description).trim().split('\n')
  return [heading, ...lines.map((line) => `  ${line}`), ...args.map(argumentLine)].join('\n')
}

function argumentLine({ name, type, required, description }: Argument): string {
  const about = description === undefined ? '' : `  ${plainLine(description)}`
  return `    ${plainLine(name, 60)}${required ? '' : '?'}: ${plainLine(type, 100)}${about}`
}

/** A line for each property of an object schema: a tool's arguments, a form's fields. */
export function memberLines(schema: Json): string[] {
  return argumentsOf(schema).map(argumentLine)
}

function argumentsOf(schema: Json): Argument[] {
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  const required = new Set<unknown>(Array.isArray(schema['required']) ? schema['required'] : [])
  return Object.entries(properties).map(([name, property]) => {
    const { description } = isObject(property) ? property : {}
    const about = typeof description === 'string' ? description : undefined
    return { name, type: typeName(property), required: required.has(name), description: about }
  })
}

const MAX_TYPE_DEPTH = 3

/** A short name for the type that a schema describes. */
function typeName(schema: unknown, depth = 0): string {
  if (!isObject(schema) || depth > MAX_TYPE_DEPTH) return 'any'
  const { type, enum: values, const: value, items, anyOf, oneOf, $ref } = schema
  if (Array.isArray(values)) return values.map((item) => JSON.stringify(item)).join(' | ')
  if (value !== undefined) return JSON.stringify(value)
  if (type === 'array') return `${bracketed(typeName(items, depth + 1))}[]`
  if (type !== undefined) return (Array.isArray(type) ? type : [type]).map(String).join(' | ')
  const parts = Array.isArray(anyOf) ? anyOf : oneOf
  if (Array.isArray(parts)) return parts.map((part) => typeName(part, depth + 1)).join(' | ')
  return typeof $ref === 'string' ? ($ref.split('/').at(-1) ?? 'any') : 'any'
}

function bracketed(type: string): string {
  return type.includes(' | ') ? `(${type})` : type
}

/** Handles, as the stateless revision advises ("Stateful Tools"): one tool gives out an id that others take. */
import { plainLine } from '../client/index.ts'
import { isObject, type Json } from '../protocol/index.ts'

export interface Handle {
  readonly handle: string
  /** The tools that give it out. */
  readonly from: readonly string[]
  /** The tools that must be given it. */
  readonly to: readonly string[]
}

const MAX_TOOLS = 1_000
const MAX_SHOWN = 10
const LOOKS_LIKE_ID = /(^|_)(id|handle)$|[a-z](Id|Handle)$/

export function toolsIn(result: Json): readonly Json[] {
  const { tools } = result
  return Array.isArray(tools) ? (tools as readonly unknown[]).slice(0, MAX_TOOLS).filter(isObject) : []
}

/** By the schemas alone: a property of one tool's output that another tool's input requires. */
export function handlesIn(tools: readonly Json[]): readonly Handle[] {
  const given = byProperty(tools, ({ outputSchema }) => Object.keys(propertiesOf(outputSchema)))
  const taken = byProperty(tools, ({ inputSchema }) => requiredOf(inputSchema))
  return [...given]
    .map(([handle, from]) => ({ handle, from, to: (taken.get(handle) ?? []).filter((tool) => !from.includes(tool)) }))
    .filter(({ to }) => to.length > 0)
    .slice(0, MAX_SHOWN)
    .map(({ handle, from, to }) => ({ handle, from: from.slice(0, MAX_SHOWN), to: to.slice(0, MAX_SHOWN) }))
}

function byProperty(tools: readonly Json[], properties: (tool: Json) => readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const tool of tools) {
    for (const property of properties(tool).filter((name) => LOOKS_LIKE_ID.test(name))) {
      const name = plainLine(property, 60)
      found.set(name, [...(found.get(name) ?? []), plainLine(String(tool['name']), 60)])
    }
  }
  return found
}

function propertiesOf(schema: unknown): Json {
  return isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {}
}

function requiredOf(schema: unknown): readonly string[] {
  const required = isObject(schema) ? schema['required'] : undefined
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
}

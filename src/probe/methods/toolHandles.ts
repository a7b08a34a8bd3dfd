/** Handles, as in "Stateful Tools" of the stateless revision: one tool returns an id that other tools take. */
import { plainLine } from '../../client/index.ts'
import { isObject, type Json } from '../../protocol/index.ts'

export interface Handle {
  readonly handle: string
  /** The tools that return it. */
  readonly from: readonly string[]
  /** The tools that require it. */
  readonly to: readonly string[]
}

const MAX_TOOLS = 1_000
const MAX_PROPERTIES = 200
export const MAX_SHOWN = 10
const LOOKS_LIKE_ID = /(^|_)(id|handle)$|[a-z](Id|Handle)$/

export function toolsIn(result: Json): readonly Json[] {
  const { tools } = result
  return Array.isArray(tools) ? (tools as readonly unknown[]).slice(0, MAX_TOOLS).filter(isObject) : []
}

/** Found in the schemas: a property of one tool's output that another tool's input requires. */
export function handlesIn(tools: readonly Json[]): readonly Handle[] {
  const given = byProperty(tools, ({ outputSchema }) => Object.keys(propertiesOf(outputSchema)))
  const taken = byProperty(tools, ({ inputSchema }) => requiredOf(inputSchema))
  return [...given]
    .map(([handle, from]) => {
      const to = [...(taken.get(handle) ?? [])].filter((tool) => !from.has(tool))
      return { handle, from: [...from], to }
    })
    .filter(({ to }) => to.length > 0)
    .slice(0, MAX_SHOWN)
    .map(({ handle, from, to }) => ({ handle, from: from.slice(0, MAX_SHOWN), to: to.slice(0, MAX_SHOWN) }))
}

/** The name of a tool, safe to show. */
export function toolName({ name }: Json): string {
  return typeof name === 'string' ? plainLine(name, 60) : 'a tool without a name'
}

function byProperty(tools: readonly Json[], properties: (tool: Json) => readonly string[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const tool of tools) {
    for (const property of new Set(properties(tool).slice(0, MAX_PROPERTIES))) {
      if (!LOOKS_LIKE_ID.test(property)) continue
      const name = plainLine(property, 60)
      const named = found.get(name) ?? new Set()
      found.set(name, named.add(toolName(tool)))
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
